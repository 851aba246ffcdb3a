/* Starts a run: what the driver would have to do between fork and exec, which in a process as large
 * as Python costs more than many a run.
 *
 *   start PARENT CPU[,CPU...] BYTES COMMAND [ARGUMENT...]
 *
 * The run dies with its parent, stays on the CPUs, writes no file longer than BYTES and no core. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FIRST_OF_COMMAND = 4, CANNOT_START = 126, PARENT_IS_GONE = 127 };

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    _exit(CANNOT_START);
}

static void stay_on(char *list) {
    cpu_set_t *cpus = CPU_ALLOC(1 << 16);
    size_t size = CPU_ALLOC_SIZE(1 << 16);
    CPU_ZERO_S(size, cpus);
    for (char *cpu = strtok(list, ","); cpu; cpu = strtok(NULL, ","))
        CPU_SET_S(strtoul(cpu, NULL, 10), size, cpus);
    if (sched_setaffinity(0, size, cpus) != 0)
        fail("the run cannot be bound to its CPU");
}

static void limit(int resource, rlim_t most) {
    struct rlimit both = {most, most};
    if (setrlimit(resource, &both) != 0)
        fail("the run's files cannot be limited");
}

int main(int count, char **words) {
    if (count <= FIRST_OF_COMMAND) {
        fputs("usage: start PARENT CPU[,CPU...] BYTES COMMAND [ARGUMENT...]\n", stderr);
        return CANNOT_START;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(words[1], NULL, 10))
        return PARENT_IS_GONE; /* it died before it could take this process with it */
    stay_on(words[2]);
    limit(RLIMIT_FSIZE, strtoul(words[3], NULL, 10));
    limit(RLIMIT_CORE, 0);
    execv(words[FIRST_OF_COMMAND], words + FIRST_OF_COMMAND);
    fail(words[FIRST_OF_COMMAND]);
}
