/*
 * Locks and unlocks a mutex in rounds, with the recorder and without, so that what recording adds
 * can be told: a round begins with a byte that comes in and ends with one back.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long sections;

int main(int count, char **words) {
    long pairs = count > 1 ? atol(words[1]) : 0;
    for (char kind; read(0, &kind, 1) == 1;) {
        for (long one = 0; one < pairs; one++) {
            pthread_mutex_lock(&mutex);
            sections++;
            pthread_mutex_unlock(&mutex);
        }
        if (write(1, &kind, 1) != 1)
            return 1;
    }
    return 0;
}
