/* A thread that is cancelled while it locks and unlocks: neither is a cancellation point. pairs.h
 * comes before it. */
static volatile int in, go, n;

static void *work(void *x) {
    pairs(1);
    in = 1;
    while (!go)
        ;
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
    }
    pthread_testcancel();
    return 0;
}

int main(void) {
    pthread_t t;
    void *r;
    pthread_create(&t, 0, work, 0);
    while (!in)
        ;
    pthread_cancel(t);
    go = 1;
    pthread_join(t, &r);
    printf("%d %d\n", r == PTHREAD_CANCELED, n);
    pairs(1);
    return 0;
}
