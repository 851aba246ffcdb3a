/* The methods of call, call_sync and nested_call_sync: really called, never inlined. */
#ifndef KERNELS_METHOD_H
#define KERNELS_METHOD_H
#include "lock.h"
#include "runtime/guarded.h"
#include "runtime/runtime.h"

#define METHOD RUNTIME_OPAQUE static __attribute__((unused))

METHOD void plain_method(guarded_t *object, const lock_thread_t *self) {
    guarded_section(object, self, 0);
}

/* Holds the lock of its object from entry to return. */
METHOD lock_result_t synchronized_method(guarded_t *object, lock_thread_t *self) {
    return guarded_sync(object, self, 0);
}

#endif
