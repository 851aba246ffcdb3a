/* Mutexes of C11: three acquisitions and a wait in a round; pairs.h comes before it. */
int main(void) {
    mtx_t m;
    cnd_t c;
    struct timespec t = {0};
    mtx_init(&m, mtx_timed);
    cnd_init(&c);
    for (int i = 0; i < 10; i++) {
        mtx_lock(&m);
        mtx_trylock(&m);
        cnd_timedwait(&c, &m, &t);
        mtx_unlock(&m);
        mtx_trylock(&m);
        mtx_unlock(&m);
        mtx_timedlock(&m, &t);
        mtx_unlock(&m);
    }
    return 0;
}
