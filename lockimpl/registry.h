/*
 * What locks.def says of the lock and the variant that a program is compiled for:
 * -DLOCKCROSS_LOCK=<name>, and -DLOCKCROSS_VARIANT=<name> unless it is the lock's default.
 */
#ifndef LOCKCROSS_REGISTRY_H
#define LOCKCROSS_REGISTRY_H

#include "arch/arch.h"

#ifndef LOCKCROSS_LOCK
#error "LOCKCROSS_LOCK must name a lock of locks.def"
#endif

#define LOCK_TEXT_(x) #x
#define LOCK_TEXT(x) LOCK_TEXT_(x)
#define LOCK_JOIN_(x, y) x##y
#define LOCK_JOIN(x, y) LOCK_JOIN_(x, y)
/* What the chosen lock calls `member`: of LOCK_MEMBER(_acquire), thin makes thin_acquire. */
#define LOCK_MEMBER(member) LOCK_JOIN(LOCKCROSS_LOCK, member)

/* Traits; locks.def says what each means. */
enum {
    TRAIT_NONE = 0,
    TRAIT_JAVA = 1,
    TRAIT_CANCELS = 2,
    TRAIT_BY_SIGNAL = 4,
    TRAIT_UNORDERED = 8,
    TRAIT_AT_START = 16
};

#define LOCK(name, paper_name, source, traits, fence_kinds, threads, words, sentence)              \
    enum {                                                                                         \
        name##_traits = traits,                                                                    \
        name##_fence_kinds = fence_kinds,                                                          \
        name##_max_threads = threads,                                                              \
        name##_extra_words = words                                                                 \
    };
#define VARIANT(lock, name, traits, sentence) enum { lock##_##name##_traits = traits };
#define SHIPS_IN(lock, runtime)
#define READS_TIME(lock, variant)
#include "locks.def"
#undef LOCK
#undef VARIANT
#undef SHIPS_IN
#undef READS_TIME

_Static_assert(LOCK_MEMBER(_fence_kinds) & LOCKCROSS_FENCE,
               "locks.def does not offer this lock with this fence kind");

/* The traits of the chosen lock and, if it is not the default, of its variant. */
enum {
#ifdef LOCKCROSS_VARIANT
    LOCK_TRAITS = LOCK_MEMBER(_traits) |
    LOCK_JOIN(LOCK_MEMBER(_), LOCK_JOIN(LOCKCROSS_VARIANT, _traits))
#else
    LOCK_TRAITS = LOCK_MEMBER(_traits)
#endif
};
enum { LOCK_IS_JAVA = (LOCK_TRAITS & TRAIT_JAVA) != 0 };

#endif
