import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;

/** A program whose own agent, as a profiler or a mocking library, has its class transformed again. */
public class Again {
    private static Instrumentation instrumentation;
    private int count;

    /** Changes nothing. */
    public static void premain(String text, Instrumentation given) {
        instrumentation = given;
        given.addTransformer(new ClassFileTransformer() {}, true);
    }

    synchronized void increment() {
        count++;
    }

    void block() {
        synchronized (this) {
            count++;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Again one = new Again();
        for (int round = 0; round < 2; round++) {
            for (int left = 1000; left > 0; left--) {
                one.increment();
                one.block();
            }
            instrumentation.retransformClasses(Again.class);
        }
        System.out.println(one.count);
    }
}
