package lockcross.record;

/**
 * What one platform thread records. A virtual thread records into the buffer of the thread that
 * carries it, behind a record that names it: it cannot be taken off its carrier in here.
 */
final class Buffer {
    private static final int FIRST_WORDS = 128;

    final int id;
    final long tid;
    /** Null once it has ended and its last records are written. */
    Thread thread;

    /** More than 0: the agent itself is at work, or the writer; nothing is recorded. */
    int busy;
    int untilStack;
    /** Acquisitions that were not recorded since their objects are not in the sample. */
    long leftOut;
    /** Records that could not be kept because the writer was too far behind. */
    long lost;

    volatile Slab slab;

    private long[] words;
    private int at;
    private long last;
    private long random;
    private Thread running; // the virtual thread whose records came last, or null

    // What the thread holds, the innermost last.
    private Object[] held = new Object[16];
    private int[] heldIdentity = new int[16];
    private int depth;

    Buffer(int id, long tid, Thread thread) {
        this.id = id;
        this.tid = tid;
        this.thread = thread;
        random = 0x9E3779B97F4A7C15L * (tid + 1);
        untilStack = 1;
        slab = new Slab(this, FIRST_WORDS);
        words = slab.words;
    }

    /** Adds a record. Records of one buffer have ever later times. */
    void add(int kind, long now, int site, int identity) {
        long time = now - Recorder.start;
        if (time <= last) {
            time = last + 1;
        }
        last = time;
        int place = at;
        if (place == words.length) {
            if (!next()) {
                lost++;
                return;
            }
            place = 0;
        }
        words[place] = Log.word(time, kind);
        words[place + 1] = (long) site << 32 | identity & 0xFFFFFFFFL;
        at = place + 2;
        slab.publish(place + 2);
    }

    /** Hands the full slab to the writer and takes another. */
    private boolean next() {
        busy++;
        try {
            if (!Writer.hasRoom()) {
                return false;
            }
            Slab full = slab;
            Writer.hand(full);
            Slab fresh = new Slab(this, Math.min(2 * words.length, Slab.MOST_WORDS));
            words = fresh.words;
            at = 0;
            slab = fresh; // behind the hand-over: the writer takes them in this order
            return true;
        } catch (OutOfMemoryError error) {
            return false; // a record less, and no failure that the program would not have
        } finally {
            busy--;
        }
    }

    /** Which virtual thread runs, or null: what comes next is of it. */
    void runs(Thread virtual) {
        if (virtual != running) {
            running = virtual;
            long tid = virtual == null ? 0 : Threads.tid(virtual);
            add(Log.THREAD, System.nanoTime(), (int) (tid >>> 32), (int) tid);
        }
    }

    void enter(Object object, int identity) {
        if (running != null) {
            return; // what it holds it may take to another carrier
        }
        if (depth == held.length) {
            held = java.util.Arrays.copyOf(held, 2 * depth);
            heldIdentity = java.util.Arrays.copyOf(heldIdentity, 2 * depth);
        }
        held[depth] = object;
        heldIdentity[depth] = identity;
        depth++;
    }

    /** The identity of an object that is held, which is so once less; 0 for one not recorded. */
    int leave(Object object) {
        if (running != null) {
            return Recorder.sampled(System.identityHashCode(object));
        }
        int place = depth - 1;
        while (place >= 0 && held[place] != object) {
            place--;
        }
        if (place < 0) {
            return 0;
        }
        int identity = heldIdentity[place];
        depth--;
        for (int one = place; one < depth; one++) { // none where the innermost is left
            held[one] = held[one + 1];
            heldIdentity[one] = heldIdentity[one + 1];
        }
        held[depth] = null;
        return identity;
    }

    /** The identity of an object, held or not; 0 for one not recorded. */
    int identityOf(Object object) {
        for (int place = depth - 1; running == null && place >= 0; place--) {
            if (held[place] == object) {
                return heldIdentity[place];
            }
        }
        return Recorder.sampled(System.identityHashCode(object));
    }

    /** How many acquisitions until a stack is taken again: any number up to twice the mean. */
    void drawInterval() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        untilStack = 1 + (int) Math.floorMod(random, 2L * Recorder.stackInterval - 1);
    }
}
