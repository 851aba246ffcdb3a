package lockcross.cost;

import java.io.ByteArrayOutputStream;
import java.io.IOException;

/**
 * Locks and unlocks in rounds, with and without the agent, so that what recording adds can be told:
 * a round begins with a byte that comes in, which says what is locked, and ends with one back.
 */
public final class Pairs {
    private static final Object LOCK = new Object();
    private static final ByteArrayOutputStream OF_JDK = new ByteArrayOutputStream();
    private static int count;

    private Pairs() {}

    public static void main(String[] arguments) throws IOException {
        int pairs = Integer.parseInt(arguments[0]);
        for (int kind; (kind = System.in.read()) >= 0; ) {
            if (kind == 'b') {
                blocks(pairs);
            } else {
                methods(pairs);
            }
            System.out.write('\n');
            System.out.flush();
        }
    }

    private static void blocks(int pairs) {
        for (int one = 0; one < pairs; one++) {
            synchronized (LOCK) {
                count++;
            }
        }
    }

    private static void methods(int pairs) {
        for (int one = 0; one < pairs; one++) {
            count += OF_JDK.size();
        }
    }
}
