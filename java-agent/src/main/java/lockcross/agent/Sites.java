package lockcross.agent;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import lockcross.record.Json;
import lockcross.record.Writer;

/** The places in the program that take a monitor, wait or notify; numbered as they are met. */
final class Sites {
    private static final AtomicInteger MADE = new AtomicInteger();
    private static final ConcurrentHashMap<String, Integer> KNOWN = new ConcurrentHashMap<>();

    private Sites() {}

    /** Those of one method, in the order of its code. */
    static final class OfMethod {
        private final String text;
        private final String descriptor;
        private int count;

        /** `jdk`: of a class of the JDK, whose callers are more telling. */
        OfMethod(String type, String method, String descriptor, String file, boolean jdk) {
            text = "\"class\":\"" + Json.escaped(type.replace('/', '.')) + "\",\"method\":\""
                    + Json.escaped(method) + "\",\"file\":\""
                    + Json.escaped(file == null ? "" : file) + "\",\"jdk\":" + jdk;
            this.descriptor = descriptor;
        }

        /** The next one. It has the number that it had when the class was rewritten before. */
        int add(String what, int line) {
            String place = text + ",\"line\":" + line + ",\"what\":\"" + what + "\"}";
            String key = count++ + descriptor + place;
            Integer known = KNOWN.get(key);
            if (known != null) {
                return known;
            }
            int number = MADE.incrementAndGet();
            Integer other = KNOWN.putIfAbsent(key, number);
            if (other != null) {
                return other;
            }
            Writer.tell("{\"site\":" + number + "," + place);
            return number;
        }
    }
}
