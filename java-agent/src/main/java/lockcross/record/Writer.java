package lockcross.record;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** The one thread that writes the log: slabs as they fill up, and now and then what all have. */
public final class Writer implements Runnable {
    private static final int MOST_WAITING = 1 << 25; // bytes that wait to be written
    private static final long PATIENCE = 10_000_000_000L; // ns that a thread waits for room
    private static final long MARK_EVERY = 100_000_000L; // ns
    private static final int TICK = 2; // ms
    private static final int END_ROOM = 1 << 17; // bytes of the log for its end and for further lines

    private static final ConcurrentLinkedQueue<Slab> FULL = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger PENDING = new AtomicInteger();
    private static final ConcurrentLinkedQueue<Buffer> MADE = new ConcurrentLinkedQueue<>();
    private static final ConcurrentLinkedQueue<String> LINES = new ConcurrentLinkedQueue<>();

    private static int mostSlabs = MOST_WAITING / Slab.MOST_BYTES;
    private static volatile boolean finishing;
    private static volatile boolean finished;
    private static volatile boolean failed;

    private static final ConcurrentLinkedQueue<String> notRewritten = new ConcurrentLinkedQueue<>();

    private final LogFile file;
    private final long most;
    private final Objects objects = new Objects();
    private final List<Buffer> buffers = new ArrayList<>();
    private long acquisitions;
    private long leftOut;
    private long lost;
    private long counted;
    private long cpuAtStart;
    private String reason = "exit";
    private long stopped; // when recording ended
    private long cpuAtEnd;

    private Writer(LogFile file, long most) {
        this.file = file;
        this.most = most;
    }

    /**
     * Opens the log and begins to write.
     *
     * @param head what is known now, a JSON object
     * @param most bytes of the log; recording ends there
     * @param sample of so many objects one is recorded, a power of two
     * @return where the log is
     */
    public static Path begin(Path path, String head, long most, int sample, int stackInterval)
            throws IOException {
        warmUp(); // before anybody else is at work: a class that is loaded half-way cannot be used
        LogFile file = new LogFile(path);
        file.text(LogFile.TEXT, head + "\n");
        mostSlabs = (int) Math.max(Math.min(MOST_WAITING, most / 4) / Slab.MOST_BYTES, 2);
        Recorder.sampleMask = sample - 1;
        Recorder.stackInterval = stackInterval;
        Writer writer = new Writer(file, most);
        Thread thread = new Thread(null, writer, "lockcross-writer", 0, false);
        thread.setDaemon(true);
        thread.start();
        Thread end = new Thread(null, Writer::finish, "lockcross-end", 0, false);
        Runtime.getRuntime().addShutdownHook(end);
        return file.path;
    }

    /** From now on events are recorded. */
    public static void go() {
        Recorder.start = System.nanoTime();
        Recorder.on = true;
    }

    /** Adds a line to the log: a JSON object. */
    public static void tell(String line) {
        LINES.add(line);
    }

    /** Says something to the user, whatever the program has done to System.err. */
    @SuppressWarnings("resource") // standard error stays open
    public static void say(String message) {
        try {
            FileOutputStream out = new FileOutputStream(FileDescriptor.err);
            out.write(("lockcross: " + message + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            // Nobody listens.
        }
    }

    /** A class was left as it was, which `why` says. */
    public static void leftOut(String name, String why) {
        tell("{\"left_out\":\"" + Json.escaped(name) + "\",\"why\":\"" + Json.escaped(why) + "\"}");
        notRewritten.add(name + ": " + why);
    }

    static void made(Buffer buffer) {
        MADE.add(buffer);
    }

    static void hand(Slab slab) {
        FULL.add(slab);
        PENDING.incrementAndGet();
    }

    /** Whether another slab may wait. Waits for that itself, unless the writer does not move. */
    static boolean hasRoom() {
        if (PENDING.get() < mostSlabs) {
            return true;
        }
        long begun = System.nanoTime();
        while (PENDING.get() >= mostSlabs) {
            if (failed || finished) {
                return false;
            }
            if (System.nanoTime() - begun > PATIENCE) {
                failed = true; // the disk stands still, or the writer has died
                return false;
            }
            Thread.yield(); // parking would take a permit that is the program's
        }
        return true;
    }

    @Override
    public void run() {
        Threads.anyBuffer().busy++;
        try {
            write();
        } finally {
            Recorder.on = false;
            Recorder.counting = false;
            finished = true; // whatever has happened: the program must be able to end
        }
    }

    private void write() {
        long marked = System.nanoTime();
        while (!finishing) {
            try {
                Thread.sleep(TICK);
            } catch (InterruptedException error) {
                continue; // nobody's wish: the thread is known to nobody
            }
            if (Recorder.on && cpuAtStart == 0) {
                cpuAtStart = cpu();
            }
            long now = System.nanoTime();
            boolean mark = now - marked >= MARK_EVERY;
            step(mark);
            marked = mark ? now : marked;
        }
        stop("exit");
        Recorder.counting = false;
        step(true);
        end();
    }

    private void step(boolean mark) {
        if (failed) {
            stop("disk");
            FULL.clear();
            PENDING.set(0);
            return;
        }
        try {
            lines();
            full();
            if (mark) {
                everything();
            }
        } catch (IOException | OutOfMemoryError error) {
            failed = true;
            stop(error instanceof IOException ? "disk" : "memory");
            say("recording ended: " + file.path + ": " + error.getMessage()
                    + "; what was recorded until then can be read. The program goes on");
        }
    }

    private void lines() throws IOException {
        StringBuilder text = new StringBuilder();
        for (Buffer buffer; (buffer = MADE.poll()) != null; ) {
            buffers.add(buffer);
            Thread thread = buffer.thread;
            String name = thread == null ? "" : Json.escaped(thread.getName());
            text.append("{\"thread\":").append(buffer.id).append(",\"tid\":").append(buffer.tid);
            text.append(",\"name\":\"").append(name).append("\"}\n");
        }
        for (String line; (line = LINES.poll()) != null; ) {
            text.append(line).append('\n');
        }
        if (text.length() > 0) {
            file.text(LogFile.TEXT, text.toString());
        }
    }

    private void full() throws IOException {
        for (Slab slab; (slab = FULL.poll()) != null; ) {
            PENDING.decrementAndGet();
            take(slab);
        }
    }

    /** What is in no full slab yet, of all buffers: what came before is in the log then. */
    private void everything() throws IOException {
        long time = System.nanoTime() - Recorder.start;
        for (Iterator<Buffer> left = buffers.iterator(); left.hasNext(); ) {
            Buffer buffer = left.next();
            Thread thread = buffer.thread;
            boolean ended = thread != null && !thread.isAlive();
            Slab slab = buffer.slab;
            full(); // the one before it may have been handed over just now
            take(slab);
            if (ended) {
                add(buffer);
                buffer.thread = null;
                left.remove();
            }
        }
        if (Recorder.on) {
            file.mark(time);
        }
    }

    private void add(Buffer buffer) {
        leftOut += buffer.leftOut;
        lost += buffer.lost;
        counted += buffer.counted;
    }

    private void take(Slab slab) throws IOException {
        int to = slab.published();
        int from = slab.taken;
        if (from == to || failed) {
            return;
        }
        if (Recorder.on && file.size() + coming() > most - END_ROOM) {
            Recorder.counting = true; // first: to stop takes a while, and the program goes on
            stop("limit");
            say("recording ended: the log has its " + Text.bytes(most)
                    + " (--most). The program goes on");
        }
        file.events(slab.owner.id, slab.words, from, to);
        slab.taken = to;
        for (int place = from; place < to; place += 2) {
            if ((slab.words[place] & Log.KINDS) == Log.ACQUIRED) {
                acquisitions++;
                objects.add((int) slab.words[place + 1]);
            }
        }
    }

    /** Bytes that all threads may have when recording ends now. */
    private long coming() {
        long words = (mostSlabs + 1L) * Slab.MOST_WORDS;
        for (Buffer buffer : buffers) {
            words += buffer.slab.words.length;
        }
        return words * Long.BYTES;
    }

    private void stop(String why) {
        if (Recorder.on) {
            Recorder.on = false;
            reason = why;
            stopped = System.nanoTime() - Recorder.start;
            cpuAtEnd = cpu();
        }
    }

    private void end() {
        for (Buffer buffer : buffers) {
            add(buffer);
        }
        double different = objects.count();
        double collisions = different * Math.max(different - 1, 0) / 2 / (1L << 31);
        long cpu = cpuAtEnd - cpuAtStart;
        String end = String.format(Locale.ROOT,
                "{\"end\":\"%s\",\"time\":%d,\"cpu\":%d,\"acquisitions\":%d,\"left_out\":%d,"
                        + "\"counted\":%d,\"lost\":%d,\"missed\":%b,\"objects\":%.0f,\"collisions\":%.3g}",
                reason, stopped, cpu, acquisitions, leftOut, counted, lost, Recorder.missed,
                different, collisions);
        try {
            if (failed) {
                file.repair();
            }
            file.text(LogFile.END, end + "\n");
            file.close();
        } catch (IOException error) {
            // It was said when recording ended.
        }
        Text.notRewritten(notRewritten);
        Text.summary(
                file, reason, stopped, cpu, acquisitions, leftOut, counted, lost, different,
                collisions);
    }

    /** Nanoseconds of the process, those of the system for it too; 0 where that is not known. */
    private static long cpu() {
        return ProcessHandle.current().info().totalCpuDuration().map(Duration::toNanos).orElse(0L);
    }

    private static void finish() {
        Threads.anyBuffer().busy++;
        finishing = true;
        while (!finished) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private static void warmUp() {
        // What is formatted at the end must not be looked for by then, under a program's own policy.
        String.format(Locale.ROOT, "%,d %,.0f %.1f %.3g %b", 1_000, 1e3, 0.5, 0.5, true);
        Recorder.start = System.nanoTime();
        Buffer buffer = new Buffer(0, 0, null);
        Stacks.warmUp();
        Threads.buffer();
        for (int count = 0; count < 200; count++) { // more than its first slab has room for
            buffer.acquired(Log.ACQUIRED, Recorder.start, 1, buffer, 1);
            buffer.released(buffer, Recorder.start);
        }
        buffer.mend(0);
        FULL.clear();
        PENDING.set(0);
        cpu();
    }
}
