// Changes from one context of execution to another on the same host thread.
//
// A context is what a host thread would lose if it ran something else: the registers that a callee
// saves, on its own stack; the stack pointer; and the thread pointer, below which the C library and
// QEMU have what belongs to a thread. For x86-64 and AArch64 hosts.
//
// Plain C, too, so that a test can compile it for a host that is not this one.
#pragma once

// Sanitizers keep a stack of their own for each thread.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKCROSS_HAS_CONTEXTS 0
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKCROSS_HAS_CONTEXTS 0
#endif
#ifndef LOCKCROSS_HAS_CONTEXTS
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__linux__)
#define LOCKCROSS_HAS_CONTEXTS 1
#else
#define LOCKCROSS_HAS_CONTEXTS 0
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct lockcross_context {
    void *stack;          // stack pointer; the saved registers lie there
    void *thread_pointer; // of the thread that the context belongs to
};

// Saves the caller in `from` and goes on in `to`, which was saved before. Returns when another
// switch goes on in `from`.
__attribute__((visibility("hidden"))) void lockcross_switch(struct lockcross_context *from,
                                                            const struct lockcross_context *to);
#ifdef __x86_64__
// The same where the kernel alone may change the thread pointer (no FSGSBASE).
__attribute__((visibility("hidden"))) void
lockcross_switch_by_kernel(struct lockcross_context *from, const struct lockcross_context *to);
#endif
// Saves the caller in `mine`, calls `function(mine)` on another stack, whose end is aligned to 16
// bytes, and goes on in `mine` when it returns. Meanwhile another thread may go on in `mine`, and
// save it again.
__attribute__((visibility("hidden"))) void
lockcross_call_on(struct lockcross_context *mine, void *stack_end,
                  void (*function)(struct lockcross_context *mine));

#ifdef __cplusplus
}
#endif
