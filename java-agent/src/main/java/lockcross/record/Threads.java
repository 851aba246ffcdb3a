package lockcross.record;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * The buffer of each platform thread, by the thread's id. No thread-local variables: the JDK erases
 * those of some of its own threads.
 */
final class Threads {
    /** Null where the agent has not begun, as in tests. */
    private static final ThreadFacts FACTS = ThreadFacts.known;

    /** Thread.tid, where only getId() says it, which may be overridden. */
    private static final VarHandle TID;

    private static final VarHandle CHANGING;

    static {
        VarHandle tid = null;
        try {
            tid = MethodHandles.privateLookupIn(Thread.class, MethodHandles.lookup())
                    .findVarHandle(Thread.class, "tid", long.class);
        } catch (ReflectiveOperationException error) {
            // The package is not open: getId().
        }
        TID = tid;
        try {
            CHANGING = MethodHandles.lookup().findStaticVarHandle(
                    Threads.class, "changing", int.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private static volatile Buffer[] byTid = new Buffer[256]; // open addressing
    private static int used;
    private static int made;
    private static volatile int changing; // given back by a store: a call may fail

    private Threads() {}

    /** Where the running thread records; null if it does not. */
    static Buffer buffer() {
        if (FACTS == null) {
            Buffer buffer = of(Thread.currentThread());
            return buffer.busy == 0 ? buffer : null;
        }
        Thread carrier = FACTS.carrier();
        Buffer buffer = of(carrier);
        if (buffer.busy != 0) {
            return null;
        }
        Thread thread = Thread.currentThread();
        buffer.runs(thread == carrier ? null : thread);
        return buffer;
    }

    /** The buffer of the running thread, whether it records or not. */
    static Buffer anyBuffer() {
        return of(FACTS == null ? Thread.currentThread() : FACTS.carrier());
    }

    @SuppressWarnings("deprecation") // getId(), in JDKs that have another name for it
    static long tid(Thread thread) {
        if (FACTS != null) {
            return FACTS.id(thread);
        }
        return TID == null ? thread.getId() : (long) TID.get(thread);
    }

    private static Buffer of(Thread thread) {
        long tid = tid(thread);
        Buffer[] table = byTid;
        int mask = table.length - 1;
        for (int place = (int) tid & mask; ; place = (place + 1) & mask) {
            Buffer buffer = table[place];
            if (buffer == null) {
                return make(thread, tid);
            }
            if (buffer.tid == tid) {
                return buffer;
            }
        }
    }

    private static Buffer make(Thread thread, long tid) {
        lock();
        try {
            if (4 * (used + 1) > 3 * byTid.length) {
                rebuild();
            }
            Buffer buffer = new Buffer(++made, tid, thread);
            Writer.made(buffer); // before it is found: none is in use that is not written
            insert(byTid, buffer);
            byTid = byTid; // what was stored is visible to other threads
            used++;
            return buffer;
        } finally {
            changing = 0;
        }
    }

    /** Leaves out those of ended threads; twice the size where many are left. */
    private static void rebuild() {
        List<Buffer> living = new ArrayList<>();
        for (Buffer buffer : byTid) {
            if (buffer != null && buffer.thread != null) {
                living.add(buffer);
            }
        }
        Buffer[] table = new Buffer[Math.max(byTid.length, Integer.highestOneBit(living.size()) * 4)];
        for (Buffer buffer : living) {
            insert(table, buffer);
        }
        used = living.size();
        byTid = table;
    }

    private static void insert(Buffer[] table, Buffer buffer) {
        int mask = table.length - 1;
        int place = (int) buffer.tid & mask;
        while (table[place] != null) {
            place = (place + 1) & mask;
        }
        table[place] = buffer;
    }

    private static void lock() {
        while (!CHANGING.compareAndSet(0, 1)) {
            Thread.onSpinWait();
        }
    }
}
