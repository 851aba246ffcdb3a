package lockcross.record;

import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;

/** The stacks of some acquisitions: who called the method that locks. */
final class Stacks implements Function<Stream<StackWalker.StackFrame>, String> {
    private static final int FRAMES = 16;
    private static final int MOST = 100_000; // different ones that are kept
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final Stacks TEXT = new Stacks();
    private static final ConcurrentHashMap<String, Integer> KNOWN = new ConcurrentHashMap<>();
    private static final AtomicInteger MADE = new AtomicInteger();

    private Stacks() {}

    /** Takes the stack of the acquisition that was recorded last, unless too many are known. */
    static void take(Buffer buffer, int identity) {
        buffer.busy++;
        int number = 0;
        try {
            buffer.drawInterval();
            number = number(WALKER.walk(TEXT));
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError error) {
            // A stack less is no reason to disturb the program.
        } finally {
            buffer.busy--;
        }
        if (number != 0) {
            buffer.add(Log.STACK, Recorder.start, number, identity);
        }
    }

    static void warmUp() {
        WALKER.walk(TEXT);
        KNOWN.get("");
    }

    @Override
    public String apply(Stream<StackWalker.StackFrame> frames) {
        StringBuilder text = new StringBuilder("[");
        int count = 0;
        for (Iterator<StackWalker.StackFrame> left = frames.iterator();
                count < FRAMES && left.hasNext(); ) {
            StackWalker.StackFrame frame = left.next();
            if (frame.getClassName().startsWith("lockcross.record.")) {
                continue;
            }
            text.append(count++ > 0 ? ",\"" : "\"");
            text.append(Json.escaped(frame.getClassName())).append('.');
            text.append(Json.escaped(frame.getMethodName())).append(':');
            text.append(Math.max(frame.getLineNumber(), 0)).append('"');
        }
        return text.append(']').toString();
    }

    private static int number(String text) {
        Integer known = KNOWN.get(text);
        if (known != null) {
            return known;
        }
        if (MADE.get() >= MOST) {
            return 0;
        }
        int number = MADE.incrementAndGet();
        Integer other = KNOWN.putIfAbsent(text, number);
        if (other != null) {
            return other;
        }
        Writer.tell("{\"stack\":" + number + ",\"frames\":" + text + "}");
        return number;
    }
}
