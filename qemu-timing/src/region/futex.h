// A word that one thread sleeps on until another wakes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockcross {

class Futex {
  public:
    void wake() {
        word_.store(1, std::memory_order_release);
        call(FUTEX_WAKE_PRIVATE, 1);
    }
    // Returns once it has been woken, which it forgets.
    void sleep() {
        while (word_.load(std::memory_order_acquire) == 0)
            call(FUTEX_WAIT_PRIVATE, 0);
        word_.store(0, std::memory_order_relaxed);
    }

  private:
    // Not by the C library where it can be helped: that sets errno, which may belong to a context
    // that another host thread runs by now.
    void call(long operation, long value) {
#if defined(__x86_64__)
        long result;
        register long timeout asm("r10") = 0;
        asm volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_futex), "D"(&word_), "S"(operation), "d"(value), "r"(timeout)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
        register long number asm("x8") = SYS_futex;
        register long word asm("x0") = reinterpret_cast<long>(&word_);
        register long x1 asm("x1") = operation;
        register long x2 asm("x2") = value;
        register long timeout asm("x3") = 0;
        asm volatile("svc 0" : "+r"(word) : "r"(number), "r"(x1), "r"(x2), "r"(timeout) : "memory");
#else
        syscall(SYS_futex, &word_, operation, value, nullptr, nullptr, 0);
#endif
    }

    std::atomic<uint32_t> word_{0}; // 1: woken
};

} // namespace lockcross
