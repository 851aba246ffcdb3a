/*
 * Names for addresses, from the kernel's list of mappings and from the modules' own symbol tables
 * in memory. All is read through descriptors, so a module that is unloaded meanwhile is an error
 * and no fault; dladdr would take the loader's lock, which a thread of the program may hold while
 * it waits for another one.
 */
#include "places.h"

#include <elf.h>

enum { CHUNK = 4096, PATH = 4096, SYMBOLS = CHUNK / sizeof(Elf64_Sym) };

/* Bytes of this process; from a descriptor, or where there is none as they lie. */
static bool peek(int memory, void *to, uint64_t from, size_t size) {
    if (memory >= 0)
        return sys(pread64, memory, to, size, from) == (long)size;
    const volatile char *bytes = (const volatile char *)(uintptr_t)from;
    for (size_t one = 0; one < size; one++)
        ((volatile char *)to)[one] = bytes[one];
    return true;
}

typedef struct {
    int memory;
    uint64_t bias; /* what is added to the module's own addresses */
    uint64_t symbols, strings, hash, gnu_hash;
    uint32_t count;
} table_t;

/* How many symbols a table of GNU's hashes knows of: one more than the last of the last chain. */
static uint32_t hashed(const table_t *table) {
    uint32_t head[4], bucket[CHUNK / 4], last = 0; /* buckets, first symbol, words of bloom */
    if (!peek(table->memory, head, table->gnu_hash, sizeof head))
        return 0;
    uint64_t buckets = table->gnu_hash + sizeof head + (uint64_t)head[2] * 8;
    for (uint32_t one = 0; one < head[0];) {
        uint32_t some = head[0] - one < CHUNK / 4 ? head[0] - one : CHUNK / 4;
        if (!peek(table->memory, bucket, buckets + one * 4ull, some * 4ull))
            return 0;
        for (uint32_t at = 0; at < some; at++)
            last = bucket[at] > last ? bucket[at] : last;
        one += some;
    }
    if (last < head[1])
        return head[1];
    for (uint32_t chain = 0;; last++) {
        if (!peek(table->memory, &chain, buckets + head[0] * 4ull + (last - head[1]) * 4ull, 4))
            return 0;
        if (chain & 1)
            return last + 1;
    }
}

/* The symbols of the module whose first page is at `base`. The bias is set in any case. */
static bool symbols_of(uint64_t base, int memory, table_t *table) {
    *table = (table_t){.memory = memory, .bias = base};
    Elf64_Ehdr head;
    if (!peek(memory, &head, base, sizeof head) || head.e_ident[0] != 0x7f ||
        head.e_ident[1] != 'E' || head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    uint64_t dynamic = 0, size = 0, first = ~0ull;
    for (unsigned one = 0; one < head.e_phnum; one++) {
        Elf64_Phdr part;
        if (!peek(memory, &part, base + head.e_phoff + one * sizeof part, sizeof part))
            return false;
        if (part.p_type == PT_LOAD && first == ~0ull)
            first = part.p_vaddr - part.p_offset;
        if (part.p_type == PT_DYNAMIC)
            dynamic = part.p_vaddr, size = part.p_memsz;
    }
    table->bias = base - first;
    for (uint64_t at = 0; at < size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        if (!peek(memory, &entry, table->bias + dynamic + at, sizeof entry) ||
            entry.d_tag == DT_NULL)
            break;
        /* The loader has made most of them addresses already. */
        uint64_t value = entry.d_un.d_ptr;
        value = value < base ? value + table->bias : value;
        if (entry.d_tag == DT_SYMTAB)
            table->symbols = value;
        else if (entry.d_tag == DT_STRTAB)
            table->strings = value;
        else if (entry.d_tag == DT_HASH)
            table->hash = value;
        else if (entry.d_tag == DT_GNU_HASH)
            table->gnu_hash = value;
    }
    uint32_t chains[2];
    if (table->hash && peek(memory, chains, table->hash, sizeof chains))
        table->count = chains[1];
    else if (table->gnu_hash)
        table->count = hashed(table);
    return table->symbols && table->strings && table->count;
}

static bool name_at(const table_t *table, uint32_t at, char *to, size_t room) {
    size_t length = 0;
    while (length + 1 < room && peek(table->memory, to + length, table->strings + at + length, 1) &&
           to[length])
        length++;
    to[length] = 0;
    return length != 0;
}

/* The symbol that begins last before the address, and reaches to it. */
static void name_of(uint64_t address, uint64_t base, int memory, place_t *place) {
    table_t table;
    bool named = symbols_of(base, memory, &table);
    uint64_t own = address - table.bias, best = 0;
    uint32_t name = 0;
    place->offset = place->own = own;
    for (uint32_t one = 0; named && one < table.count; one += SYMBOLS) {
        Elf64_Sym some[SYMBOLS];
        uint32_t count = table.count - one < SYMBOLS ? table.count - one : SYMBOLS;
        if (!peek(memory, some, table.symbols + one * sizeof *some, count * sizeof *some))
            return;
        for (uint32_t at = 0; at < count; at++)
            if (some[at].st_shndx != SHN_UNDEF && some[at].st_value <= own &&
                ELF64_ST_TYPE(some[at].st_info) != STT_TLS &&
                (own < some[at].st_value + some[at].st_size || own == some[at].st_value) &&
                some[at].st_value >= best)
                best = some[at].st_value, name = some[at].st_name;
    }
    if (name && name_at(&table, name, place->symbol, sizeof place->symbol))
        place->offset = own - best;
}

void *vdso_function(const void *base) {
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime"};
    table_t table;
    if (!base || !symbols_of((uintptr_t)base, -1, &table))
        return 0;
    for (uint32_t one = 0; one < table.count; one++) {
        Elf64_Sym symbol;
        char name[32];
        peek(-1, &symbol, table.symbols + one * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || !name_at(&table, symbol.st_name, name, sizeof name))
            continue;
        for (int which = 0; which < 2; which++) {
            const char *left = name, *right = names[which];
            while (*left && *left == *right)
                left++, right++;
            if (*left == *right)
                return (void *)(uintptr_t)(table.bias + symbol.st_value);
        }
    }
    return 0;
}

static const char *number(const char *from, unsigned base, uint64_t *value) {
    for (*value = 0;; from++) {
        unsigned digit = *from >= '0' && *from <= '9'   ? (unsigned)(*from - '0')
                         : *from >= 'a' && *from <= 'f' ? (unsigned)(*from - 'a' + 10)
                                                        : base;
        if (digit >= base)
            return from;
        *value = *value * base + digit;
    }
}

/* "7f00-7f10 r-xp 00001000 fe:01 1234   /path" */
static mapping_t parsed(const char *line) {
    mapping_t found = {0};
    uint64_t major, minor, inode;
    line = number(line, 16, &found.first);
    line = number(line + 1, 16, &found.last);
    line = number(line + 6, 16, &found.offset);
    line = number(line + 1, 16, &major);
    line = number(line + 1, 16, &minor);
    line = number(line + 1, 10, &inode);
    found.file = inode ? (major << 20 | minor) * 0x9e3779b97f4a7c15u + inode : 0;
    while (*line == ' ')
        line++;
    found.path = line;
    return found;
}

bool next_mapping(mappings_t *all, mapping_t *found) {
    static char text[CHUNK + PATH]; /* of the writer alone */
    for (;;) {
        size_t end = all->line;
        while (end < all->have && text[end] != '\n')
            end++;
        if (end < all->have) {
            text[end] = 0;
            *found = parsed(text + all->line);
            all->line = end + 1;
            if (!found->file)
                continue; /* a module's bss, or no module's */
            if (found->offset == 0 || found->file != all->file)
                all->base = found->first, all->file = found->file;
            found->base = all->base;
            return true;
        }
        for (size_t one = all->line; one < all->have; one++)
            text[one - all->line] = text[one];
        all->have -= all->line, all->line = 0;
        long got = sys(pread64, all->maps, text + all->have, sizeof text - all->have, all->at);
        if (got <= 0)
            return false;
        all->at += (uint64_t)got, all->have += (size_t)got;
    }
}

static void set_module(place_t *place, const char *path) {
    const char *name = path;
    size_t length = 0;
    for (const char *one = path; *one; one++)
        if (*one == '/')
            name = one + 1;
    while (name[length] && length + 1 < sizeof place->module) {
        place->module[length] = name[length];
        length++;
    }
    place->module[length] = 0;
    length = 0;
    while (path[length] && length + 1 < sizeof place->path) {
        place->path[length] = path[length];
        length++;
    }
    place->path[path[length] ? 0 : length] = 0;
}

void place_of(uint64_t address, int maps, int memory, place_t *place) {
    mappings_t all = {.maps = maps};
    mapping_t found;
    place->module[0] = place->symbol[0] = place->path[0] = 0;
    place->offset = place->own = address;
    place->base = place->file = 0;
    while (next_mapping(&all, &found) && address >= found.first) {
        if (address >= found.last)
            continue;
        place->base = found.base, place->file = found.file;
        place->offset = address - found.base;
        set_module(place, found.path);
        if (memory >= 0)
            name_of(address, found.base, memory, place);
        return;
    }
}
