/** Locks ten times in each of two ways. */
public class Inside {
    private static int count;

    public static void run() {
        Object one = new Object();
        for (int left = 10; left > 0; left--) {
            synchronized (one) {
                count++;
            }
            increment();
        }
        System.out.println(count);
    }

    static synchronized void increment() {
        count++;
    }
}
