package lockcross.agent;

import java.util.concurrent.atomic.AtomicInteger;
import lockcross.record.Json;
import lockcross.record.Writer;

/** The places in the program that take a monitor, wait or notify; numbered as they are met. */
final class Sites {
    private static final AtomicInteger MADE = new AtomicInteger();

    private Sites() {}

    /** A new one. `jdk`: of a class of the JDK, whose callers are more telling. */
    static int add(String type, String method, String file, int line, String what, boolean jdk) {
        int number = MADE.incrementAndGet();
        Writer.tell("{\"site\":" + number + ",\"class\":\"" + Json.escaped(type.replace('/', '.'))
                + "\",\"method\":\"" + Json.escaped(method) + "\",\"file\":\""
                + Json.escaped(file == null ? "" : file) + "\",\"line\":" + line + ",\"what\":\""
                + what + "\",\"jdk\":" + jdk + "}");
        return number;
    }
}
