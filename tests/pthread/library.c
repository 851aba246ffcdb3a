#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void *work(int times) {
    for (int i = 0; i < times; i++) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
    return &mutex;
}
