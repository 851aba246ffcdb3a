package lockcross.record;

/**
 * What rewritten classes call. None of it throws, takes a monitor or keeps an object alive that its
 * thread does not hold.
 *
 * <p>An acquisition is told in three steps: the identity of the object and the time before the
 * monitor is entered, then, once it is held, {@link #entered}. The identity is asked for first
 * because a JVM may have to inflate the lock of an object that is held and has no hash yet.
 */
public final class Recorder {
    /** Whether anything is recorded. Set once before the program begins, cleared once at the end. */
    static volatile boolean on;

    /** Of so many objects one is recorded: less one, a power of two less one. */
    static int sampleMask;

    /** The clock when recording began, nanoseconds. */
    static long start;

    /** Of so many acquisitions of a thread one keeps its stack, on average. */
    static int stackInterval = 1024;

    private static final int MOST_NANOS = 999_999; // of Object.wait

    private Recorder() {}

    /** What an object is told apart by; 0 where nothing is recorded of it. */
    public static int identity(Object object) {
        if (!on) {
            return 0;
        }
        return sampled(System.identityHashCode(object));
    }

    /** The time before a monitor is entered; 0 where nothing is recorded. */
    public static long begin() {
        return on ? System.nanoTime() : 0;
    }

    /** The monitor of an object was entered. */
    public static void entered(Object object, int identity, long begun, int site) {
        if (!on) {
            return;
        }
        Buffer buffer = Threads.buffer();
        if (buffer == null) {
            return;
        }
        if (identity == 0) {
            buffer.leftOut++;
            return;
        }
        buffer.enter(object, identity);
        if (begun == 0) {
            buffer.add(Log.ACQUIRED, System.nanoTime(), site, identity);
        } else {
            buffer.add(Log.ACQUIRED | Log.BEGUN, begun, site, identity);
        }
        if (--buffer.untilStack <= 0) {
            Stacks.take(buffer, identity);
        }
    }

    /** A synchronized method has begun whose monitor the JVM itself has entered. */
    public static void enteredMethod(Object object, int site) {
        entered(object, identity(object), 0, site);
    }

    /** The monitor of an object is about to be left. */
    public static void leaving(Object object) {
        if (!on) {
            return;
        }
        Buffer buffer = Threads.buffer();
        if (buffer == null) {
            return;
        }
        int identity = buffer.leave(object);
        if (identity != 0) {
            buffer.add(Log.RELEASE, System.nanoTime(), 0, identity);
        }
    }

    /** Waits for an object as Object.wait does. */
    public static void await(Object object, int site) throws InterruptedException {
        int identity = before(object, Log.WAIT, site);
        try {
            object.wait();
        } finally {
            waited(identity);
        }
    }

    /** Waits for an object as Object.wait(long) does. */
    public static void await(Object object, long millis, int site) throws InterruptedException {
        int identity = millis < 0 ? 0 : before(object, Log.WAIT, site);
        try {
            object.wait(millis);
        } finally {
            waited(identity);
        }
    }

    /** Waits for an object as Object.wait(long, int) does. */
    public static void await(Object object, long millis, int nanos, int site)
            throws InterruptedException {
        boolean refused = millis < 0 || nanos < 0 || nanos > MOST_NANOS;
        int identity = refused ? 0 : before(object, Log.WAIT, site);
        try {
            object.wait(millis, nanos);
        } finally {
            waited(identity);
        }
    }

    /** Wakes one that waits for an object. */
    public static void signal(Object object, int site) {
        before(object, Log.NOTIFY, site);
        object.notify();
    }

    /** Wakes all that wait for an object. */
    public static void signalAll(Object object, int site) {
        before(object, Log.NOTIFY_ALL, site);
        object.notifyAll();
    }

    /**
     * From now on, until {@link #resume}, nothing that this thread does is recorded: it is the agent
     * that does it.
     */
    public static void pause() {
        Buffer buffer = Threads.anyBuffer();
        if (buffer != null) {
            buffer.busy++;
        }
    }

    public static void resume() {
        Buffer buffer = Threads.anyBuffer();
        if (buffer != null) {
            buffer.busy--;
        }
    }

    static int sampled(int identity) {
        // The low bits of a hash decide nothing by themselves: they are mixed first.
        int mixed = identity * 0x9E3779B1;
        return ((mixed >>> 7) & sampleMask) == 0 ? identity : 0;
    }

    /**
     * A thread is about to wait for an object or to notify others; the identity of the object. 0
     * where nothing is recorded, also since the thread does not have it: then nothing will be done.
     */
    private static int before(Object object, int kind, int site) {
        if (!on || object == null || !Thread.holdsLock(object)) {
            return 0;
        }
        Buffer buffer = Threads.buffer();
        if (buffer == null) {
            return 0;
        }
        int identity = buffer.identityOf(object);
        if (identity != 0) {
            buffer.add(kind, System.nanoTime(), site, identity);
        }
        return identity;
    }

    private static void waited(int identity) {
        if (identity == 0 || !on) {
            return;
        }
        Buffer buffer = Threads.buffer();
        if (buffer != null) {
            buffer.add(Log.WAITED, System.nanoTime(), 0, identity);
        }
    }
}
