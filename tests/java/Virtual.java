import java.lang.reflect.Method;

/** Virtual threads, found by name since older JDKs have none, that sleep while they hold a monitor. */
public class Virtual {
    static int shared;

    static void work(Object all) {
        Object own = new Object();
        for (int number = 0; number < 100; number++) {
            synchronized (own) {
                synchronized (all) {
                    shared++;
                    pause(number);
                }
            }
        }
    }

    static void pause(int number) {
        if (number % 10 == 0) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Object all = new Object();
        Thread[] threads = new Thread[20];
        for (int number = 0; number < threads.length; number++) {
            threads[number] = (Thread) start.invoke(null, (Runnable) () -> work(all));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("shared " + shared);
    }
}
