import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** One thread makes objects and takes each a few times, then another thread takes them. */
public class Handover {
    private static final int OBJECTS = 20_000;
    private static final int TIMES = 5;

    private static final Counter[] COUNTERS = new Counter[OBJECTS];
    private static final CyclicBarrier TURN = new CyclicBarrier(2);

    static class Counter {
        private int count;

        synchronized void add() {
            count++;
        }

        synchronized int get() {
            return count;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        Thread second = new Thread(() -> take(rounds));
        second.start();
        for (int round = 0; round < rounds; round++) {
            for (int number = 0; number < OBJECTS; number++) {
                COUNTERS[number] = new Counter();
                add(COUNTERS[number]);
            }
            TURN.await();
            TURN.await();
        }
        second.join();
        System.out.println(COUNTERS[0].get());
    }

    private static void take(int rounds) {
        try {
            for (int round = 0; round < rounds; round++) {
                TURN.await();
                for (Counter counter : COUNTERS) {
                    add(counter);
                }
                TURN.await();
            }
        } catch (InterruptedException | BrokenBarrierException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void add(Counter counter) {
        for (int time = 0; time < TIMES; time++) {
            counter.add();
        }
    }
}
