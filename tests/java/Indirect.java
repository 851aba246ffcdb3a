import java.lang.reflect.Method;

/** One thread waits, by a call, a method reference and reflection; another comes in meanwhile. */
public class Indirect {
    private static final Object ONE = new Object();
    private static volatile int turn;

    interface Waiting {
        void go() throws Exception;
    }

    static void await(int number, Waiting waiting) throws Exception {
        synchronized (ONE) {
            turn = number;
            waiting.go();
        }
    }

    static void wake(int number, Waiting waking) throws Exception {
        for (;;) {
            synchronized (ONE) {
                if (turn == number) {
                    waking.go();
                    return;
                }
            }
            Thread.sleep(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Method wait = Object.class.getMethod("wait");
        Method notify = Object.class.getMethod("notifyAll");
        Waiting waits = ONE::wait;
        Waiting wakes = ONE::notifyAll;
        Thread waiter = new Thread(() -> {
            try {
                await(1, () -> ONE.wait());
                await(2, waits);
                await(3, () -> wait.invoke(ONE));
            } catch (Exception error) {
                System.out.println(error);
            }
        });
        waiter.start();
        wake(1, () -> ONE.notifyAll());
        wake(2, wakes);
        wake(3, () -> notify.invoke(ONE));
        waiter.join();
        System.out.println(turn);
    }
}
