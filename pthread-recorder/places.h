/* What lies at an address of this process: places.c. */
#pragma once
#include "system.h"

#include <stddef.h>

typedef struct {
    char module[256];    /* the file's name, without its folder; empty: unknown */
    char symbol[256];    /* empty: none */
    uint64_t offset;     /* in the symbol, or in the module as its own headers count */
    uint64_t own;        /* in the module, as its own headers count */
    char path[512];      /* the module's file; empty: unknown, or longer */
    uint64_t base, file; /* tell modules apart */
} place_t;

/* The mappings of files, in the order of addresses; begins with all but `maps` 0. */
typedef struct {
    int maps;
    uint64_t at, base, file;
    size_t line, have;
} mappings_t;

typedef struct {
    uint64_t first, last, offset;
    uint64_t base, file; /* where its module begins, and which it is, by a hash of the inode */
    const char *path;
} mapping_t;

bool next_mapping(mappings_t *all, mapping_t *found) HIDDEN;
/* `maps` and `memory`: descriptors of /proc/self/maps and /proc/self/mem. */
void place_of(uint64_t address, int maps, int memory, place_t *place) HIDDEN;
/* The clock_gettime of the kernel's own module, which lies at `base`; 0: none. */
void *vdso_function(const void *base) HIDDEN;
