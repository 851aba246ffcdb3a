package lockcross.record;

/** Words of the log: docs/interfaces.md, section 6. */
public final class Log {
    static final int ACQUIRED = 2;
    static final int RELEASE = 3;
    static final int WAIT = 4;
    static final int WAITED = 5;
    static final int NOTIFY = 6;
    static final int NOTIFY_ALL = 7;
    /** The stack of the acquisition before it was taken; the site is the number of the stack. */
    static final int STACK = 9;
    /** What follows in this buffer is of another thread: of its id, or of the buffer's own (0). */
    static final int THREAD = 10;
    /** The thread is about to park; it goes on; it ends. No object, no site. */
    static final int PARK = 11;
    static final int PARKED = 12;
    static final int END = 13;

    /**
     * With a kind: the time is that at which the thread began to acquire. When it had the lock
     * follows from when another thread gave it back, so it takes no look at the clock.
     */
    static final int BEGUN = 1 << 4;

    static final int KINDS = 15;
    private static final int TIME_SHIFT = 16;

    private Log() {}

    static long word(long time, int kind) {
        return time << TIME_SHIFT | kind;
    }
}
