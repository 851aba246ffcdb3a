/** Waits and notifies, some of it without having the monitor. */
public class Waits {
    static final Object place = new Object();
    static int turn;

    static void pass(int mine, int rounds) {
        for (int left = rounds; left > 0; left--) {
            synchronized (place) {
                while (turn != mine) {
                    try {
                        place.wait();
                    } catch (InterruptedException error) {
                        throw new AssertionError(error);
                    }
                }
                turn = 1 - mine;
                place.notifyAll();
            }
        }
    }

    static void times(Object one) throws InterruptedException {
        synchronized (one) {
            one.wait(1);
            one.wait(1, 1);
            one.notify();
        }
    }

    static void wrong(Object one) throws InterruptedException {
        try {
            one.notify();
        } catch (IllegalMonitorStateException error) {
            turn += 0;
        }
        try {
            one.notifyAll();
        } catch (IllegalMonitorStateException error) {
            turn += 0;
        }
        try {
            one.wait(5);
        } catch (IllegalMonitorStateException error) {
            turn += 0;
        }
        synchronized (one) {
            try {
                one.wait(-1);
            } catch (IllegalArgumentException error) {
                turn += 0;
            }
        }
    }

    static void interrupted(Object one) {
        Thread.currentThread().interrupt();
        synchronized (one) {
            try {
                one.wait();
                throw new AssertionError();
            } catch (InterruptedException error) {
                turn += 0;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        Thread other = new Thread(() -> pass(1, rounds));
        other.start();
        pass(0, rounds);
        other.join();
        times(new Object());
        wrong(new Object());
        interrupted(new Object());
        System.out.println("turn " + turn);
    }
}
