import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * What it takes a thread of a JVM to stop another one, the owner, by what that does meanwhile. Each
 * stop is timed by itself; the first of the rounds warms the JVM up.
 *
 * <pre>java OPTIONS Stops OPERATION STATE SAMPLES ROUNDS [CPU_OF_THE_REQUESTER CPU_OF_THE_OWNER]</pre>
 *
 * <p>OPERATION: {@code revoke}, the requester acquires objects that are biased towards the owner,
 * each of them once (HotSpot up to 17, -XX:+UseBiasedLocking -XX:BiasedLockingStartupDelay=0, with
 * thresholds that no class reaches); {@code bulk}, the same of a new class for each sample, timed is
 * the object at the threshold, 20; {@code trace}, it asks for the owner's stack (a handshake in
 * HotSpot from 19 on).
 *
 * <p>STATE: {@code running}, {@code locking} (another object, all the time), {@code blocked} in a
 * system call, {@code parked}, {@code parked_anew} (it has run since the last stop), {@code ended},
 * and {@code none}: there is no owner, the requester acquires objects that nobody had; what is left is
 * the clock and the acquisition. With -Dframes=N the
 * owner has so many frames more on its stack.
 *
 * <p>Prints a line of JSON, in ns.
 */
public final class Stops {
    private static final int BIASING = 50; // acquisitions of each object by its owner
    private static final int THRESHOLD = 20;
    private static final int SETTLING_MS = 20;
    private static final long FALLING_ASLEEP_NS = 50_000; // from its state's change to its sleep

    private static volatile boolean biased;
    private static volatile boolean over;
    private static volatile long result;
    private static volatile int parks;

    private Stops() {}

    static final class Biased {
        int count;

        Biased() {} // private, only its nest could call it, and a class of another loader has none
    }

    /** Makes a new class of each Biased: the JVM counts revocations by class. */
    private static final class Renewed extends ClassLoader {
        Object make() throws ReflectiveOperationException, IOException {
            String name = Biased.class.getName();
            try (InputStream code = Stops.class.getResourceAsStream("/" + name + ".class")) {
                byte[] bytes = code.readAllBytes();
                Class<?> type = defineClass(name, bytes, 0, bytes.length);
                return renew(type);
            }
        }

        static Object renew(Class<?> type) throws ReflectiveOperationException {
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        }
    }

    private static void bindTo(String cpu) throws IOException, InterruptedException {
        String thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
        Process taskset = new ProcessBuilder("taskset", "-pc", cpu, thread).start();
        if (taskset.waitFor() != 0) {
            throw new IOException("taskset -pc " + cpu + " failed");
        }
    }

    private static void run() {
        long sum = 0;
        while (!over) {
            sum += sum * 31 + 7;
        }
        result = sum;
    }

    private static void lock(Biased own) {
        while (!over) {
            synchronized (own) {
                own.count++;
            }
        }
    }

    private static void park() {
        while (!over) {
            parks++;
            LockSupport.park();
        }
    }

    /** Lets an owner that is parked run, and waits until it is parked again. */
    private static void wake(Thread owner) {
        int before = parks;
        LockSupport.unpark(owner);
        while (parks == before || owner.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        long asleep = System.nanoTime() + FALLING_ASLEEP_NS;
        while (System.nanoTime() < asleep) {
            Thread.onSpinWait();
        }
    }

    private static void bias(Object[] objects) {
        for (int i = 0; i < BIASING; i++) {
            for (Object each : objects) {
                synchronized (each) {
                    result++;
                }
            }
        }
        biased = true;
    }

    /** What the owner does below so many frames more. Returns their number. */
    private static int stay(String state, Pipe pipe, int frames) throws IOException {
        if (frames > 0) {
            return stay(state, pipe, frames - 1) + 1;
        }
        switch (state) {
            case "running": run(); break;
            case "locking": lock(new Biased()); break;
            case "blocked": pipe.source().read(ByteBuffer.allocate(1)); break;
            case "parked":
            case "parked_anew": park(); break;
            case "ended": break;
            default: throw new IllegalArgumentException(state);
        }
        return 0;
    }

    private static void own(Object[] objects, String state, String cpu, Pipe pipe) {
        try {
            if (cpu != null) {
                bindTo(cpu);
            }
            bias(objects);
            stay(state, pipe, Integer.getInteger("frames", 0));
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object[] objects(String operation, int count) throws Exception {
        Object[] made = new Object[count];
        Class<?> type = operation.equals("bulk") ? new Renewed().make().getClass() : Biased.class;
        for (int i = 0; i < count; i++) {
            made[i] = Renewed.renew(type);
        }
        return made;
    }

    private static void acquire(Object[] objects, Thread owner, boolean anew, long[] ns) {
        for (int i = 0; i < objects.length; i++) {
            Object each = objects[i];
            if (anew) {
                wake(owner);
            }
            long begin = System.nanoTime();
            synchronized (each) {
                result++;
            }
            ns[i] = System.nanoTime() - begin;
        }
    }

    private static void trace(Thread owner, boolean anew, long[] ns) {
        for (int i = 0; i < ns.length; i++) {
            if (anew) {
                wake(owner);
            }
            long begin = System.nanoTime();
            result += owner.getStackTrace().length;
            ns[i] = System.nanoTime() - begin;
        }
    }

    /** Returns ns of the samples of a round. */
    private static long[] round(String operation, String state, int samples, String cpu)
            throws Exception {
        Object[] objects = objects(operation, samples);
        biased = over = false;
        Pipe pipe = Pipe.open();
        Thread owner = new Thread(() -> own(objects, state, cpu, pipe));
        owner.setDaemon(true);
        long[] ns = new long[samples];
        if (!state.equals("none")) {
            owner.start();
            while (!biased) {
                Thread.sleep(1);
            }
            Thread.sleep(SETTLING_MS);
            if (state.equals("ended")) {
                owner.join();
            }
        }
        boolean anew = state.equals("parked_anew");
        if (operation.equals("trace")) {
            trace(owner, anew, ns);
        } else {
            acquire(objects, owner, anew, ns);
        }
        over = true;
        LockSupport.unpark(owner);
        pipe.sink().write(ByteBuffer.allocate(1));
        owner.join();
        pipe.sink().close();
        pipe.source().close();
        return operation.equals("bulk") ? new long[] {ns[samples - 1]} : ns;
    }

    public static void main(String[] words) throws Exception {
        if (words.length != 4 && words.length != 6) {
            System.err.println("Stops OPERATION STATE SAMPLES ROUNDS [CPU_OF_THE_REQUESTER CPU_OF_THE_OWNER]");
            System.exit(2);
        }
        boolean bulk = words[0].equals("bulk");
        int samples = Integer.parseInt(words[2]);
        int rounds = bulk ? samples : Integer.parseInt(words[3]);
        String cpu = null;
        if (words.length == 6) {
            bindTo(words[4]);
            cpu = words[5];
        }
        long[] ns = new long[0];
        for (int i = 0; i <= rounds; i++) {
            long[] more = round(words[0], words[1], bulk ? THRESHOLD : samples, cpu);
            if (i > 0) {
                int before = ns.length;
                ns = Arrays.copyOf(ns, before + more.length);
                System.arraycopy(more, 0, ns, before, more.length);
            }
        }
        Arrays.sort(ns);
        int count = ns.length;
        System.out.printf(
                "{\"mechanism\": \"%s\", \"state\": \"%s\", \"samples\": %d, \"least\": %d, \"quarter\": %d, "
                        + "\"median\": %d, \"three_quarters\": %d, \"percentile_99\": %d, \"mean\": %d}%n",
                words[0], words[1], count, ns[0], ns[count / 4], ns[count / 2], ns[count * 3 / 4],
                ns[count * 99 / 100], Arrays.stream(ns).sum() / count);
        System.exit(0);
    }
}
