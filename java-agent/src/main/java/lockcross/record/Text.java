package lockcross.record;

import java.util.Collection;
import java.util.Locale;

/** What is said at the end of a recording. */
final class Text {
    private Text() {}

    static void summary(
            LogFile file, String reason, long time, long cpu, long acquisitions, long leftOut,
            long counted, long lost, double objects, double collisions) {
        Writer.say(String.format(Locale.ROOT,
                "%,d acquisitions of about %,.0f objects in %.1f s (%.1f s of CPU time): %s, %s",
                acquisitions, objects, time / 1e9, cpu / 1e9, file.path, bytes(file.size())));
        if (!reason.equals("exit")) {
            Writer.say(String.format(Locale.ROOT,
                    "recording ended before the program, after %.1f s (%s)", time / 1e9, reason));
        }
        if (leftOut > 0) {
            Writer.say(String.format(Locale.ROOT,
                    "%,d further acquisitions are of objects outside the sample (%.1f %% are in it)",
                    leftOut, 100.0 * acquisitions / (acquisitions + leftOut)));
        }
        if (counted > 0) {
            Writer.say(String.format(Locale.ROOT,
                    "%,d acquisitions came after that; they were counted", counted));
        }
        if (lost > 0) {
            Writer.say(String.format(Locale.ROOT,
                    "%,d records were lost: the log could not be written for seconds", lost));
        }
        if (Recorder.missed) {
            Writer.say("some records are missing: the program ran out of stack or memory");
        }
        Writer.say(String.format(Locale.ROOT,
                "objects are told apart by the JVM's hash of 31 bits: %.2g pairs of them are"
                        + " expected to have one in common", collisions));
        Writer.say("not seen: monitors entered by native code (JNI, native synchronized methods),"
                + " waits and notifications by method handles, and java.util.concurrent's locks,"
                + " which are no monitors. Counted although they cost"
                + " nothing: locks that the compiler elides");
        if (Runtime.version().feature() < 21) {
            Writer.say("this JDK may inflate a lock to give its object a hash: recorded on JDK 21 or"
                    + " later the program is disturbed less");
        }
    }

    static void notRewritten(Collection<String> classes) {
        if (!classes.isEmpty()) {
            Writer.say(classes.size() + " classes could not be rewritten in whole, e.g. "
                    + classes.iterator().next());
        }
    }

    static String bytes(long count) {
        if (count < 1000) {
            return count + " bytes";
        }
        if (count < 1_000_000_000) {
            return String.format(Locale.ROOT, "%.3g MB", count / 1e6);
        }
        return String.format(Locale.ROOT, "%.3g GB", count / 1e9);
    }
}
