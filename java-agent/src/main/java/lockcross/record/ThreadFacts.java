package lockcross.record;

/** What only the package java.lang knows of threads, in JDKs with virtual threads. */
public abstract class ThreadFacts {
    /** Set before anything is recorded; null in a JDK without virtual threads. */
    static ThreadFacts known;

    public static void know(ThreadFacts facts) {
        known = facts;
    }

    /** The platform thread that carries the running one, or is it. */
    public abstract Thread carrier();

    /** The identifier of a thread, whatever its class has overridden. */
    public abstract long id(Thread thread);
}
