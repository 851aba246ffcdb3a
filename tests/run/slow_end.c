// QEMU frees a large table of a guest thread that ends; with this preloaded it rests then.
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>
extern void __libc_free(void *block);
void free(void *block) {
    int large = block && malloc_usable_size(block) > 16384;
    __libc_free(block);
    if (large && syscall(SYS_gettid) != getpid())
        usleep(20000);
}
