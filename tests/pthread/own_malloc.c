/* An allocator of a program's own, which locks; pairs.h comes before it. */
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static char memory[1 << 26] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t size) {
    pthread_mutex_lock(&heap);
    void *place = memory + used + 16;
    *(size_t *)(memory + used) = size;
    used += (size + 31) & ~15ul;
    pthread_mutex_unlock(&heap);
    return place;
}
void free(void *place) { pthread_mutex_lock(&heap); pthread_mutex_unlock(&heap); }
void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *place, size_t size) {
    void *made = malloc(size);
    if (place) {
        size_t former = ((size_t *)place)[-2];
        memcpy(made, place, former < size ? former : size);
    }
    return made;
}
