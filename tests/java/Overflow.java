/** Runs out of stack inside synchronized methods and blocks, catches that and goes on. */
public class Overflow {
    private static final Object ONE = new Object();

    synchronized int method(int depth) {
        return 1 + method(depth + 1);
    }

    int block(int depth) {
        synchronized (ONE) {
            return 1 + block(depth + 1);
        }
    }

    static synchronized int ofClass(int depth) {
        return 1 + ofClass(depth + 1);
    }

    public static void main(String[] arguments) throws Exception {
        Overflow overflow = new Overflow();
        int caught = 0;
        for (int left = 20; left > 0; left--) {
            try {
                overflow.method(0);
            } catch (StackOverflowError error) {
                caught++;
            }
            try {
                overflow.block(0);
            } catch (StackOverflowError error) {
                caught++;
            }
            try {
                ofClass(0);
            } catch (StackOverflowError error) {
                caught++;
            }
        }
        boolean held = Thread.holdsLock(overflow) || Thread.holdsLock(ONE)
                || Thread.holdsLock(Overflow.class);
        System.out.println(caught + " " + held);
        for (int left = 100; left > 0; left--) {
            synchronized (ONE) {
                caught++;
            }
        }
    }
}
