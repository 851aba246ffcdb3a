/*
 * The process that writes the log. It shares the program's memory and nothing else: it has its own
 * descriptors, signals, limits, rights, root and session, so neither closefrom nor setuid, seccomp
 * or a limit of the program's reaches it, and it is no thread or child that the program could see
 * or wait for. It outlives the program, and has all that was recorded however that ended.
 *
 * It may call no library: it runs with the thread-local storage of the program's first thread. Nor
 * may it fault. The log is opened by the first record: programs that lock nothing, such as a shell
 * that starts another, leave none. Ten times a second all that there is is written and the log is
 * marked, so that it can be read though this process is killed, too.
 *
 * To `record` it tells, a line each in the file `state->report`: `seen` a process with the recorder
 * in it, `log` a process and its log, `exec` what a process has become, `failed` why there is no
 * log, `deep` a process that has opened a library with RTLD_DEEPBIND, `left` one that locked
 * nothing and did not end by exit. In that file it holds a lock on the byte of its process until it
 * has ended.
 */
#include "places.h"
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { FIRST_PAUSE = 100, MARK_EVERY = 100000, STUCK = 1000000 }; /* us */
enum { PATH = 4096, LINE = 2048 };
#define MICROSECOND 1000u

static int file = -1, report = -1, maps = -1, memory = -1, watched = -1;
static uint64_t size, marked, acquired, lost;
static const char *end = "exit";
static bool refused; /* the log cannot be opened */
static char program[PATH];
static struct {
    uint64_t base, file; /* of its module; 0: unknown */
    bool named;
} known[SITES];
static uint32_t named[SITES], named_sites; /* the places of those that are named */

/* Words put together. What does not fit is left out. */
typedef struct {
    size_t length;
    char text[LINE];
} words_t;

static void letter(words_t *to, char one) {
    if (to->length < sizeof to->text)
        to->text[to->length++] = one;
}

static void say(words_t *to, const char *words) {
    while (*words)
        letter(to, *words++);
}

/* A name, as it may stand in JSON and in a line. */
static void say_name(words_t *to, const char *name) {
    for (; *name; name++)
        if (*name != '"' && *name != '\\' && (unsigned char)*name >= ' ')
            letter(to, *name);
}

static void say_number(words_t *to, uint64_t value, unsigned base) {
    char digits[24];
    int count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count)
        letter(to, digits[--count]);
}

/* One write to a file that is opened for appending: lines of several processes do not mix. */
static void tell(const char *what, const char *name) {
    words_t line = {0};
    if (report < 0)
        return;
    say(&line, what);
    letter(&line, ' ');
    say_number(&line, (uint64_t)state->process, 10);
    letter(&line, ' ');
    say_name(&line, name);
    letter(&line, '\n');
    sys(write, report, line.text, line.length);
}

static void open_report(void) {
    if (state->report)
        report = (int)sys(openat, AT_FDCWD, state->report, O_RDWR | O_APPEND | O_CLOEXEC);
}

/* In the program itself, which goes on without. */
void tell_of_no_writer(void) {
    open_report();
    tell("failed", "the system starts no process for the recorder (ulimit -u, a sandbox)");
    if (report >= 0)
        sys(close, report);
}

static void tell_failure(const char *what, long error) {
    words_t line = {0};
    say(&line, what);
    say(&line, error == -EACCES || error == -EPERM     ? ": it may not write there"
               : error == -ENOENT || error == -ENOTDIR ? ": there is no such folder"
               : error == -EROFS                       ? ": that file system is read-only"
               : error == -ENOSPC || error == -EDQUOT  ? ": the disk is full"
                                                       : ": error ");
    if (line.text[line.length - 1] == ' ')
        say_number(&line, (uint64_t)-error, 10);
    letter(&line, 0);
    line.text[sizeof line.text - 1] = 0;
    tell("failed", line.text);
}

/* Acquisitions are counted from now on; false where that was so already. */
static bool end_recording(void) {
    uint32_t mode = RECORDING;
    return atomic_compare_exchange_strong(&state->mode, &mode, COUNTING);
}

/* A block, whole: where it cannot be, what was written of it is taken away, and recording ends. So
 * it does at the size limit; what the rings have by then still comes. */
static bool block(const char *tag, uint32_t id, const void *bytes, size_t length) {
    struct {
        char tag[4];
        uint32_t id;
        uint64_t follows;
    } head = {{tag[0], tag[1], tag[2], tag[3]}, id, length};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)bytes, length}};
    if (file < 0)
        return false;
    for (struct iovec *left = parts; left < parts + 2;) {
        long count = sys(writev, file, left, parts + 2 - left);
        if (count == -EINTR)
            continue;
        if (count <= 0) {
            sys(ftruncate, file, size);
            sys(lseek, file, size, SEEK_SET);
            end_recording();
            end = count == -EFBIG ? "file" : "disk";
            return false;
        }
        for (; left < parts + 2 && (size_t)count >= left->iov_len; left++)
            count -= (long)left->iov_len;
        if (left < parts + 2) {
            left->iov_base = (char *)left->iov_base + count;
            left->iov_len -= (size_t)count;
        }
    }
    size += sizeof head + length;
    if (size >= state->most && end_recording())
        end = "limit";
    return true;
}

static void open_log(void) {
    words_t name = {0};
    long got = -EEXIST;
    for (unsigned tries = 0; got == -EEXIST && tries < 1000; tries++) {
        name.length = 0;
        say(&name, state->log);
        if (tries) {
            letter(&name, '.');
            say_number(&name, (uint64_t)state->process, 10);
        }
        if (tries > 1) {
            letter(&name, '.');
            say_number(&name, tries, 10);
        }
        letter(&name, 0);
        got = sys(openat, AT_FDCWD, name.text, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    }
    if (got < 0) {
        refused = true;
        end_recording();
        tell_failure(state->log, got);
        return;
    }
    file = (int)got;
    tell("log", name.text);
    static const char head[16] = {'L', 'C', 'E', 'V', 'E', 'N', 'T', 'S', 2};
    if (sys(write, file, head, sizeof head) == sizeof head)
        size = sizeof head;
    words_t line = {0};
    say(&line, "{\"log\": \"pthread\", \"clock_mhz\": 1000, \"identity_bits\": ");
    say_number(&line, IDENTITY_BITS, 10);
    say(&line, ", \"pid\": ");
    say_number(&line, (uint64_t)state->process, 10);
    say(&line, "}\n");
    block("TEXT", 0, line.text, line.length);
}

static void name_site(uint32_t number, bool waits) {
    static place_t place;
    words_t line = {0};
    place_of(atomic_load(&sites[number - 1]), maps, memory, &place);
    known[number - 1].named = true;
    named[named_sites++] = number - 1;
    known[number - 1].base = place.base;
    known[number - 1].file = place.file;
    const char *module = *place.module ? place.module : "?";
    say(&line, "{\"site\": ");
    say_number(&line, number, 10);
    say(&line, ", \"class\": \"");
    say_name(&line, module);
    say(&line, "\", \"method\": \"");
    if (*place.symbol) {
        say_name(&line, place.symbol);
        letter(&line, '+');
    }
    say(&line, "0x");
    say_number(&line, place.offset, 16);
    say(&line, "\", \"file\": \"");
    say_name(&line, module);
    say(&line, "\", \"line\": 0, \"what\": \"");
    say(&line, waits ? "wait" : "block");
    say(&line, "\", \"jdk\": false, \"at\": ");
    say_number(&line, place.own, 10);
    say(&line, ", \"path\": \"");
    say_name(&line, place.path);
    say(&line, "\"}\n");
    block("TEXT", 0, line.text, line.length);
}

/* Places whose module is not there any more get new numbers when they are met again. */
static void forget_modules(void) {
    static bool there[SITES];
    mappings_t all = {.maps = maps};
    mapping_t found;
    for (uint32_t one = 0; one < named_sites; one++)
        there[named[one]] = false;
    while (next_mapping(&all, &found))
        for (uint32_t one = 0; one < named_sites; one++) {
            uint32_t at = named[one];
            uintptr_t address = atomic_load(&sites[at]);
            if (address >= found.first && address < found.last && found.base == known[at].base &&
                found.file == known[at].file)
                there[at] = true;
        }
    for (uint32_t one = 0; one < named_sites; one++)
        if (!there[named[one]] && known[named[one]].file)
            atomic_store(&sites[named[one]], GONE);
}

static bool whole(const buffer_t *buffer, uint32_t index) {
    uint64_t word = __atomic_load_n(&buffer->records[index % RECORDS].word, __ATOMIC_ACQUIRE);
    return (word >> STAMP_AT & ((1u << STAMP_BITS) - 1)) == stamp(index);
}

static void write_records(buffer_t *buffer, uint32_t from, uint32_t to) {
    if (file < 0 && !refused)
        open_log();
    uint64_t taken = 0;
    for (uint32_t index = from; index != to; index++) {
        const record_t *record = &buffer->records[index % RECORDS];
        unsigned kind = record->word & 15;
        taken += kind == ACQUIRED;
        if (record->site && !known[record->site - 1].named)
            name_site(record->site, kind == WAIT || kind == WAITED);
    }
    if (block("EVTS", buffer->id, &buffer->records[from % RECORDS], (to - from) * sizeof(record_t)))
        acquired += taken;
    else
        lost += to - from;
}

/* Writes what is whole. A record that was claimed and is not whole is being made, or a handler has
 * jumped out of it: then it is passed over, as soon as its thread waits for room, after a second,
 * or when nothing more can come (`last`). What is told meanwhile waits for the next time: else this
 * would follow a busy thread in small steps. */
static void drain(buffer_t *buffer, uint64_t time, bool last) {
    uint32_t head = __atomic_load_n(&buffer->head, __ATOMIC_ACQUIRE);
    for (;;) {
        uint32_t tail = atomic_load(&buffer->tail), to = tail;
        uint32_t lap_ends = (tail | (RECORDS - 1)) + 1;
        while (to != head && to != lap_ends && to - tail < RECORDS && whole(buffer, to))
            to++;
        if (to == tail) {
            if (to == head)
                break;
            if (buffer->stuck != to || !buffer->stuck_since)
                buffer->stuck = to, buffer->stuck_since = time;
            bool waits = atomic_load(&buffer->waits) && head - tail > RECORDS;
            bool old =
                head - tail > 1 && time - buffer->stuck_since > STUCK * (uint64_t)MICROSECOND;
            if (!last && !waits && !old)
                break;
            to = tail + 1;
        } else {
            write_records(buffer, tail, to);
            buffer->stuck_since = 0;
        }
        atomic_store(&buffer->tail, to);
        if (atomic_load(&buffer->waits))
            futex_wake(&buffer->tail);
    }
}

static void drain_all(uint64_t time, bool last) {
    for (buffer_t *one = atomic_load(&state->buffers); one; one = one->next) {
        bool ended = atomic_load(&one->use) == ENDED;
        drain(one, time, last || ended);
        if (ended)
            atomic_store(&one->use, FREE);
    }
}

/* Seconds of CPU time that the program has taken; ns. */
static uint64_t cpu_time(void) {
    struct timespec time;
    return sys(clock_gettime, ~(unsigned)state->process << 3 | 2, &time) == 0
               ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec
               : 0;
}

static void say_end(uint64_t time, uint64_t cpu) {
    uint64_t counted = 0;
    words_t line = {0};
    for (buffer_t *one = atomic_load(&state->buffers); one; one = one->next)
        counted += atomic_load(&one->counted);
    say(&line, "{\"end\": \"");
    say(&line, end);
    say(&line, "\", \"time\": ");
    say_number(&line, time, 10);
    say(&line, ", \"cpu\": ");
    say_number(&line, cpu, 10);
    say(&line, ", \"acquisitions\": ");
    say_number(&line, acquired, 10);
    say(&line, ", \"counted\": ");
    say_number(&line, counted, 10);
    say(&line, ", \"lost\": ");
    say_number(&line, lost + atomic_load(&state->lost), 10);
    say(&line, "}\n");
    const char *kept = end;
    block("DONE", 0, line.text, line.length);
    end = kept;
}

static bool gone(void) {
    struct pollfd one = {watched, POLLIN, 0};
    struct timespec none = {0, 0};
    if (watched >= 0)
        return sys(ppoll, &one, 1, &none, 0, 8) > 0;
    return sys(kill, state->process, 0) == -ESRCH;
}

static bool read_program(char *to) {
    words_t name = {0};
    say(&name, "/proc/");
    say_number(&name, (uint64_t)state->process, 10);
    say(&name, "/exe");
    letter(&name, 0);
    long length = sys(readlinkat, AT_FDCWD, name.text, to, PATH - 1);
    to[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* Whether the process is another program now: what there is in memory is the last one's. */
static bool became_another(void) {
    static char name[PATH];
    long order = sys(kcmp, state->process, state->writer, KCMP_VM, 0, 0);
    if (order == 0 || !read_program(name))
        return false;
    size_t at = 0;
    while (name[at] && name[at] == program[at])
        at++;
    if (order < 0 && name[at] == program[at])
        return false;
    tell("exec", name);
    return true;
}

/* Its own descriptors, from none on, before the program goes on. */
static bool detach(void) {
    if (sys(close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0)
        return true;
    struct rlimit files = {1024, 1024};
    if (sys(unshare, CLONE_FILES) != 0)
        return false;
    sys(prlimit64, 0, RLIMIT_NOFILE, 0, &files);
    for (unsigned one = 0; one < files.rlim_cur && one < 1u << 20; one++)
        sys(close, one);
    return true;
}

static void prepare(void) {
    struct rlimit limit, none = {0, 0};
    sys(setsid);
    sys(prctl, PR_SET_NAME, "lockcross-log");
    sys(chdir, "/");
    sys(prlimit64, 0, RLIMIT_CORE, &none, 0);
    static const int raised[] = {RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_NOFILE};
    for (unsigned one = 0; one < sizeof raised / sizeof *raised; one++)
        if (sys(prlimit64, 0, raised[one], 0, &limit) == 0) {
            limit.rlim_cur = limit.rlim_max;
            sys(prlimit64, 0, raised[one], &limit, 0);
        }
    open_report();
    struct flock own = {F_RDLCK, SEEK_SET, state->process, 1, 0};
    if (report >= 0)
        sys(fcntl, report, F_OFD_SETLK, &own);
    maps = (int)sys(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    memory = (int)sys(openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
    watched = (int)sys(pidfd_open, state->process, 0);
    if (read_program(program))
        tell("seen", program);
}

int writer(void *unused) {
    (void)unused;
    state->writer = (int)sys(getpid);
    bool fit = detach();
    if (fit)
        prepare();
    atomic_store(&state->ready, fit ? 1 : 2);
    futex_wake(&state->ready);
    uint64_t cpu = 0;
    unsigned pause = FIRST_PAUSE; /* short, since it may soon become another program */
    while (fit) {
        uint32_t seen = atomic_load(&state->wake), asked = atomic_load(&state->asked);
        bool became = became_another(), over = became || gone();
        uint64_t time = now(), taken = cpu_time();
        cpu = taken > cpu ? taken : cpu;
        drain_all(time, over);
        if (over) {
            if (atomic_load(&state->deep))
                tell("deep", program);
            if (file < 0 && !atomic_load(&state->exiting) && !became)
                tell("left", program);
            if (atomic_load(&state->mode) == OFF) /* a thread has waited too long for room */
                end = "disk";
            say_end(time - state->start, cpu > state->cpu ? cpu : state->cpu);
            break;
        }
        if (asked != atomic_load(&state->answered)) {
            forget_modules();
            atomic_store(&state->answered, asked);
            futex_wake(&state->answered);
        }
        if (time - marked >= MARK_EVERY * MICROSECOND && atomic_load(&state->mode) == RECORDING) {
            uint64_t mark = time - state->start;
            marked = time;
            block("MARK", 0, &mark, sizeof mark);
        }
        atomic_store(&state->asleep, 1);
        if (atomic_load(&state->exiting) && watched >= 0) {
            struct pollfd one = {watched, POLLIN, 0};
            struct timespec most = {0, MARK_EVERY * MICROSECOND};
            sys(ppoll, &one, 1, &most, 0, 8);
        } else {
            futex_wait(&state->wake, seen, pause);
        }
        atomic_store(&state->asleep, 0);
        pause = pause + pause / 4 < MARK_EVERY ? pause + pause / 4 : MARK_EVERY;
    }
    sys(exit_group, 0);
    return 0;
}
