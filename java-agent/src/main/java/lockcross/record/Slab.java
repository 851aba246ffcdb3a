package lockcross.record;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A piece of a buffer: records of two words each, added by one thread and taken by the writer. */
final class Slab {
    private static final VarHandle FILLED;

    static {
        try {
            FILLED = MethodHandles.lookup().findVarHandle(Slab.class, "filled", int.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    static final int MOST_WORDS = 1 << 14;
    static final int MOST_BYTES = MOST_WORDS * Long.BYTES;

    final Buffer owner;
    final long[] words;
    /** Of the writer alone: words that are in the log. */
    int taken;

    private int filled;

    Slab(Buffer owner, int words) {
        this.owner = owner;
        this.words = new long[words];
    }

    /** Of the owner: so many words are whole. */
    void publish(int count) {
        FILLED.setRelease(this, count);
    }

    /** Of the writer: words that are whole. */
    int published() {
        return (int) FILLED.getAcquire(this);
    }
}
