/* Four threads that count, and allocate while they hold the lock; pairs.h comes before it. */
static int n;
static void *go(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&m);
        n++;
        free(malloc(64));
        pthread_mutex_unlock(&m);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, go, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", n);
    return 0;
}
