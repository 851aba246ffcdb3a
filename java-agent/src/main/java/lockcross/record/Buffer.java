package lockcross.record;

import java.util.Arrays;

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
    /** Acquisitions that were counted after the log had its size. */
    long counted;
    /** Records that could not be kept because the writer was too far behind. */
    long lost;
    /** What {@link Recorder#TORN} was when what is held was last looked through. */
    int torn;

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

    /**
     * Adds a record; false where there is no room. Records of one buffer have ever later times. What
     * changes here changes behind the last call.
     */
    boolean add(int kind, long now, int site, int identity) {
        long time = now - Recorder.start;
        if (time <= last) {
            time = last + 1;
        }
        if (at == words.length && !next()) {
            lost++;
            return false;
        }
        int place = at;
        words[place] = Log.word(time, kind);
        words[place + 1] = (long) site << 32 | identity & 0xFFFFFFFFL;
        slab.publish(place + 2);
        at = place + 2;
        last = time;
        return true;
    }

    /** Adds the record of an acquisition; the thread holds the object once more. */
    void acquired(int kind, long now, int site, Object object, int identity) {
        if (running != null) { // what it holds it may take to another carrier
            add(kind, now, site, identity);
            return;
        }
        if (depth == held.length) {
            int[] identities = Arrays.copyOf(heldIdentity, 2 * depth);
            held = Arrays.copyOf(held, 2 * depth);
            heldIdentity = identities;
        }
        if (add(kind, now, site, identity)) {
            held[depth] = object;
            heldIdentity[depth] = identity;
            depth++;
        }
    }

    /** Adds the record of a release, unless the acquisition was not recorded. */
    void released(Object object, long now) {
        if (running != null) {
            int identity = Recorder.sampled(System.identityHashCode(object));
            if (identity != 0) {
                add(Log.RELEASE, now, 0, identity);
            }
            return;
        }
        int place = depth - 1;
        while (place >= 0 && held[place] != object) {
            place--;
        }
        if (place >= 0) {
            add(Log.RELEASE, now, 0, heldIdentity[place]);
            drop(place);
        }
    }

    /** Adds the releases of objects that the thread no longer holds; all are looked through. */
    void mend(int torn) {
        for (int place = depth - 1; place >= 0; place--) {
            if (!Thread.holdsLock(held[place])) {
                add(Log.RELEASE, System.nanoTime(), 0, heldIdentity[place]);
                drop(place);
            }
        }
        this.torn = torn;
    }

    private void drop(int place) {
        depth--;
        for (int one = place; one < depth; one++) { // none where the innermost is left
            held[one] = held[one + 1];
            heldIdentity[one] = heldIdentity[one + 1];
        }
        held[depth] = null;
    }

    /** Hands the full slab to the writer and takes another. */
    private boolean next() {
        busy++;
        try {
            if (!Writer.hasRoom()) {
                return false;
            }
            Slab fresh = new Slab(this, Math.min(2 * words.length, Slab.MOST_WORDS));
            Writer.hand(slab);
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
            long tid = virtual == null ? 0 : Threads.tid(virtual);
            add(Log.THREAD, System.nanoTime(), (int) (tid >>> 32), (int) tid);
            running = virtual;
        }
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
