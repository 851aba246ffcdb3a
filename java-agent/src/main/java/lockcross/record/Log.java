package lockcross.record;

/** Words of the log: docs/interfaces.md, section 6. */
public final class Log {
    static final int ACQUIRED = 2;
    static final int RELEASE = 3;
    static final int WAIT = 4;
    static final int WAITED = 5;
    static final int NOTIFY = 6;
    static final int NOTIFY_ALL = 7;
    static final int NOTHING_DONE = 8;
    /** The stack of the acquisition before it was taken; the site is the number of the stack. */
    static final int STACK = 9;
    /** What follows in this buffer is of another thread: of its id, or of the buffer's own (0). */
    static final int THREAD = 10;

    static final int KIND_BITS = 4;
    static final int WAIT_BITS = 11;
    static final int TIME_SHIFT = 16;

    private static final int MANTISSA_BITS = 6;
    private static final int MOST = (1 << WAIT_BITS) - 1;

    private Log() {}

    /**
     * A time in nanoseconds, in eleven bits: up to 127 as it is, longer ones rounded down to seven
     * significant bits. 0 says that nothing is known, so none is 0.
     */
    static int waitCode(long nanos) {
        long value = Math.max(nanos, 1);
        int exponent = Math.max(63 - Long.numberOfLeadingZeros(value) - MANTISSA_BITS, 0);
        long code = ((long) exponent << MANTISSA_BITS) + (value >>> exponent);
        return (int) Math.min(code, MOST);
    }

    static long word(long time, int wait, int kind) {
        return time << TIME_SHIFT | (long) wait << KIND_BITS | kind;
    }
}
