import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Hands objects over by threads that have ended, are parked, wait at a monitor or run: some of
 * each, by its arguments.
 */
public class Pauses {
    private static final Object GATE = new Object();

    static volatile boolean done;
    static int sum;

    public static void main(String[] arguments) throws Exception {
        ended(Integer.parseInt(arguments[0]));
        parked(Integer.parseInt(arguments[1]));
        waiting(Integer.parseInt(arguments[2]));
        running(Integer.parseInt(arguments[3]));
    }

    static Object[] made(int count) {
        Object[] objects = new Object[count];
        for (int number = 0; number < count; number++) {
            objects[number] = new Object();
            take(objects[number]);
        }
        return objects;
    }

    static void take(Object object) {
        synchronized (object) {
            sum++;
        }
    }

    static void takeAll(Object[] objects) {
        for (Object one : objects) {
            take(one);
        }
    }

    static void ended(int count) throws InterruptedException {
        Object[][] made = new Object[1][];
        Thread owner = new Thread(() -> made[0] = made(count));
        owner.start();
        owner.join();
        takeAll(made[0]);
    }

    static void parked(int count) throws InterruptedException {
        Object[][] made = new Object[1][];
        done = false;
        CountDownLatch ready = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            made[0] = made(count);
            ready.countDown();
            while (!done) {
                LockSupport.park();
            }
        });
        owner.start();
        ready.await();
        until(owner, Thread.State.WAITING);
        takeAll(made[0]);
        done = true;
        LockSupport.unpark(owner);
        owner.join();
    }

    static void waiting(int count) throws InterruptedException {
        Object[][] made = new Object[1][];
        done = false;
        Thread owner = new Thread(() -> {
            made[0] = made(count);
            synchronized (GATE) {
                while (!done) {
                    try {
                        GATE.wait();
                    } catch (InterruptedException error) {
                        return;
                    }
                }
            }
        });
        owner.start();
        until(owner, Thread.State.WAITING);
        takeAll(made[0]);
        synchronized (GATE) {
            done = true;
            GATE.notifyAll();
        }
        owner.join();
    }

    static void running(int count) throws InterruptedException {
        Object[][] made = new Object[1][];
        done = false;
        CountDownLatch ready = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            made[0] = made(count);
            ready.countDown();
            while (!done) {
                Thread.onSpinWait();
            }
        });
        owner.start();
        ready.await();
        takeAll(made[0]);
        done = true;
        owner.join();
    }

    static void until(Thread thread, Thread.State state) {
        while (thread.getState() != state) {
            Thread.yield();
        }
    }
}
