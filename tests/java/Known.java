import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.Hashtable;
import java.util.Vector;

/** Takes monitors in every way that a program can, each so many times as its first argument says. */
public class Known {
    static int count;

    static class Counter {
        synchronized int returning(int value) {
            if (value == 0) {
                return count++;
            }
            for (int left = value; left > 0; left--) {
                count++;
            }
            return count;
        }

        synchronized void throwing() {
            if (count >= 0) {
                throw new IllegalStateException();
            }
        }

        static synchronized long ofClass(double wide, long value) {
            return value + (long) wide;
        }
    }

    /** Its version for serialization is computed from its methods and what they are declared as. */
    static class Kept implements Serializable {
        synchronized void method() {
            count++;
        }
    }

    static void block(Object one) {
        synchronized (one) {
            count++;
        }
    }

    static void nested(Object one, Object other) {
        synchronized (one) {
            synchronized (one) {
                synchronized (other) {
                    count++;
                }
            }
        }
    }

    static int loop(Object one, int left) {
        synchronized (one) {
            while (left-- > 0) {
                if (left == 3) {
                    return left;
                }
            }
        }
        return 0;
    }

    static void caught(Object one) {
        try {
            synchronized (one) {
                count += 1 / (count - count);
            }
        } catch (ArithmeticException error) {
            count++;
        }
    }

    static void contended(int times) throws InterruptedException {
        Object one = new Object();
        int[] shared = new int[1];
        Thread[] threads = new Thread[2];
        for (int number = 0; number < threads.length; number++) {
            threads[number] = new Thread(() -> {
                for (int left = times; left > 0; left--) {
                    increment(one, shared);
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (shared[0] != 2 * times) {
            throw new AssertionError(shared[0]);
        }
    }

    static void increment(Object one, int[] shared) {
        synchronized (one) {
            shared[0]++;
        }
    }

    static void nobodysNull() {
        Object nothing = count < 0 ? "" : null;
        try {
            synchronized (nothing) {
                count++;
            }
        } catch (NullPointerException error) {
            count++;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int times = Integer.parseInt(arguments[0]);
        Object one = new Object();
        Object other = new Object();
        Counter counter = new Counter();
        Kept kept = new Kept();
        Vector<Integer> vector = new Vector<>();
        Hashtable<Integer, Integer> table = new Hashtable<>();
        for (int number = 0; number < times; number++) {
            block(one);
            nested(one, other);
            loop(other, number % 9);
            caught(other);
            counter.returning(number % 3);
            try {
                counter.throwing();
            } catch (IllegalStateException error) {
                count++;
            }
            Counter.ofClass(1.5, number);
            kept.method();
            vector.add(number);
            table.put(number % 16, number);
            nobodysNull();
        }
        contended(times);
        System.out.println("count " + count);
        System.out.println("version " + ObjectStreamClass.lookup(Kept.class).getSerialVersionUID());
    }
}
