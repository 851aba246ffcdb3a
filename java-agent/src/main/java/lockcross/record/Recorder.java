package lockcross.record;

import java.lang.reflect.Method;
import java.security.AccessController;
import java.security.PrivilegedAction;

/**
 * What rewritten classes call, by way of a class in java.lang. None of it takes a monitor or keeps
 * an object alive that its thread does not hold.
 *
 * <p>An acquisition is told in three steps: the identity of the object and the time before the
 * monitor is entered, then, once it is held, {@link #entered}. The identity is asked for first
 * because a JVM may have to inflate the lock of an object that is held and has no hash yet.
 *
 * <p>Where the stack or the memory is at its end, an event is not told and counted as such. Each
 * changes the state of its thread by stores that no call lies between, so it is told or it is not.
 */
public final class Recorder {
    /** How often a release could not be told since no call was possible; one element. */
    public static final int[] TORN = new int[1];

    /** Whether anything is recorded. Set once before the program begins, cleared once at the end. */
    static volatile boolean on;

    /** Whether acquisitions are counted: the log is full, and the program goes on. */
    static volatile boolean counting;

    /** Whether some event was not told for want of stack or memory. */
    static volatile boolean missed;

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
        if (!on) {
            return 0;
        }
        if (TORN[0] != 0) {
            mend();
        }
        return System.nanoTime();
    }

    /** The monitor of an object was entered. */
    public static void entered(Object object, int identity, long begun, int site) {
        if (!on) {
            if (counting) {
                count();
            }
            return;
        }
        try {
            Buffer buffer = Threads.buffer();
            if (buffer == null) {
                return;
            }
            if (identity == 0) {
                buffer.leftOut++;
                return;
            }
            if (begun == 0) {
                buffer.acquired(Log.ACQUIRED, System.nanoTime(), site, object, identity);
            } else {
                buffer.acquired(Log.ACQUIRED | Log.BEGUN, begun, site, object, identity);
            }
            if (--buffer.untilStack <= 0) {
                Stacks.take(buffer, identity);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            missed = true;
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
        try {
            Buffer buffer = Threads.buffer();
            if (buffer != null) {
                buffer.released(object, System.nanoTime());
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            TORN[0]++;
        }
    }

    /** The running thread is about to wait for an object as Object.wait does. */
    public static void waiting(Object object, int site) {
        tell(object, Log.WAIT, site);
    }

    /** It is about to wait as Object.wait(long) does. */
    public static void waiting(Object object, long millis, int site) {
        if (millis >= 0) {
            tell(object, Log.WAIT, site);
        }
    }

    /** It is about to wait as Object.wait(long, int) does. */
    public static void waiting(Object object, long millis, int nanos, int site) {
        if (millis >= 0 && nanos >= 0 && nanos <= MOST_NANOS) {
            tell(object, Log.WAIT, site);
        }
    }

    /** It has waited for an object. A wait that ends by an exception is ended by what comes next. */
    public static void waited(Object object) {
        tell(object, Log.WAITED, 0);
    }

    /** It is about to wake one that waits for an object. */
    public static void notifying(Object object, int site) {
        tell(object, Log.NOTIFY, site);
    }

    /** It is about to wake all that wait for an object. */
    public static void notifyingAll(Object object, int site) {
        tell(object, Log.NOTIFY_ALL, site);
    }

    /** Stands for Object.wait where a method reference names that. */
    public static void await(Object object) throws InterruptedException {
        waiting(object, 0);
        object.wait();
        waited(object);
    }

    /** Stands for Object.wait(long), likewise. */
    public static void await(Object object, long millis) throws InterruptedException {
        waiting(object, millis, 0);
        object.wait(millis);
        waited(object);
    }

    /** Stands for Object.wait(long, int), likewise. */
    public static void await(Object object, long millis, int nanos) throws InterruptedException {
        waiting(object, millis, nanos, 0);
        object.wait(millis, nanos);
        waited(object);
    }

    /** Stands for Object.notify, likewise. */
    public static void signal(Object object) {
        notifying(object, 0);
        object.notify();
    }

    /** Stands for Object.notifyAll, likewise. */
    public static void signalAll(Object object) {
        notifyingAll(object, 0);
        object.notifyAll();
    }

    /** Method.invoke has been called with these. */
    public static void invoking(Object method, Object object, Object[] arguments) {
        if (!on || ((Method) method).getDeclaringClass() != Object.class || object == null) {
            return;
        }
        try {
            switch (((Method) method).getName()) {
                case "notify":
                    notifying(object, 0);
                    break;
                case "notifyAll":
                    notifyingAll(object, 0);
                    break;
                case "wait":
                    if (arguments == null || arguments.length == 0) {
                        waiting(object, 0);
                    } else if (arguments.length == 1) {
                        waiting(object, ((Number) arguments[0]).longValue(), 0);
                    } else {
                        waiting(object, ((Number) arguments[0]).longValue(),
                                ((Number) arguments[1]).intValue(), 0);
                    }
                    break;
                default:
            }
        } catch (RuntimeException error) {
            // Not the method's arguments: the program will be told.
        }
    }

    /** Method.invoke is about to return. */
    public static void invoked(Object method, Object object) {
        if (on && ((Method) method).getDeclaringClass() == Object.class
                && ((Method) method).getName().equals("wait")) {
            waited(object);
        }
    }

    /** The running thread is about to park. */
    public static void parking() {
        pause(Log.PARK);
    }

    /** It was parked, and goes on. */
    public static void parked() {
        pause(Log.PARKED);
    }

    /** The running thread ends. */
    public static void ending() {
        pause(Log.END);
    }

    /**
     * Does what the agent itself has to do in a thread of the program's: unrecorded, and with the
     * agent's rights.
     */
    @SuppressWarnings("removal") // there are security managers up to JDK 23
    public static <T> T unrecorded(PrivilegedAction<T> work) {
        Buffer buffer = Threads.anyBuffer();
        buffer.busy++;
        try {
            return AccessController.doPrivileged(work);
        } finally {
            buffer.busy--;
        }
    }

    static int sampled(int identity) {
        // The low bits of a hash decide nothing by themselves: they are mixed first.
        int mixed = identity * 0x9E3779B1;
        return ((mixed >>> 7) & sampleMask) == 0 ? identity : 0;
    }

    /**
     * A thread waits or notifies; nothing is told where it does not hold the object: then nothing
     * will be done.
     */
    private static void tell(Object object, int kind, int site) {
        if (!on || object == null || !Thread.holdsLock(object)) {
            return;
        }
        try {
            Buffer buffer = Threads.buffer();
            if (buffer == null) {
                return;
            }
            int identity = buffer.identityOf(object);
            if (identity != 0) {
                buffer.add(kind, System.nanoTime(), site, identity);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            missed = true;
        }
    }

    private static void pause(int kind) {
        if (!on) {
            return;
        }
        try {
            Buffer buffer = Threads.buffer();
            if (buffer != null) {
                buffer.add(kind, System.nanoTime(), 0, 0);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            missed = true;
        }
    }

    private static void count() {
        try {
            Buffer buffer = Threads.anyBuffer();
            if (buffer.busy == 0) {
                buffer.counted++;
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            missed = true;
        }
    }

    /** Tells the releases of the running thread that could not be told. */
    private static void mend() {
        try {
            Buffer buffer = Threads.buffer();
            if (buffer != null && buffer.torn != TORN[0]) {
                buffer.mend(TORN[0]);
            }
        } catch (StackOverflowError | OutOfMemoryError error) {
            // Another time.
        }
    }
}
