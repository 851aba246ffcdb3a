import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * Objects that one thread makes and uses, and that another takes, by what the first does meanwhile.
 * A JVM counts the cancellations of each class by itself, so each round has objects of a new one.
 * Prints ns an acquisition: of all threads together, in their loops that lock, the median of the
 * rounds behind the first third, in which the JVM compiles.
 */
public class Owners {
    private static final int TAKEN = 2;
    private static final int BUILDERS = 4;

    private static final AtomicLong SPENT = new AtomicLong();
    private static volatile boolean stop;
    private static volatile long sink;

    private static int objects;
    private static int first;

    /** Has a lock. */
    public abstract static class Item {
        private int count;

        public abstract Item another();

        final void use(int times) {
            for (int time = 0; time < times; time++) {
                synchronized (this) {
                    count++;
                }
            }
        }
    }

    private interface Program {
        void round(Item like) throws Exception;
    }

    /** Makes a class anew. */
    private static final class Fresh extends ClassLoader {
        Item item(byte[] bytes) throws ReflectiveOperationException {
            Class<?> made = defineClass("Handed", bytes, 0, bytes.length);
            return (Item) made.getDeclaredConstructor().newInstance();
        }
    }

    public static void main(String[] arguments) throws Exception {
        objects = Integer.parseInt(arguments[1]);
        first = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        Program program = program(arguments[0]);
        byte[] bytes = bytes();
        List<Double> each = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            SPENT.set(0);
            program.round(new Fresh().item(bytes));
            if (round >= rounds / 3) {
                each.add((double) SPENT.get() / objects / (first + TAKEN));
            }
        }
        each.sort(null);
        System.out.printf("%.3f%n", each.get(each.size() / 2));
        System.exit(0); // a pool's workers still wait
    }

    private static Program program(String name) {
        switch (name) {
            case "dead":
                return like -> handOver(like, () -> { });
            case "park":
                return like -> handOver(like, () -> {
                    while (!stop) {
                        LockSupport.park();
                    }
                });
            case "plain":
                return like -> handOver(like, () -> {
                    long sum = 0;
                    while (!stop) {
                        sum += sum * 31 + 7;
                    }
                    sink = sum;
                });
            case "lock":
                return like -> handOver(like, () -> {
                    Item own = like.another();
                    while (!stop) {
                        own.use(1);
                    }
                });
            case "builders":
                return Owners::builders;
            case "pool":
                ExecutorService pool = Executors.newFixedThreadPool(2);
                return like -> pool(like, pool);
            case "pipeline":
                return Owners::pipeline;
            case "monitor":
                return Owners::monitor;
            case "ring":
                return Owners::ring;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    private static byte[] bytes() throws IOException {
        try (InputStream in = Owners.class.getResourceAsStream("Handed.class")) {
            return in.readAllBytes();
        }
    }

    private static Item[] made(Item like, int count) {
        Item[] items = new Item[count];
        for (int number = 0; number < count; number++) {
            items[number] = like.another();
        }
        long begun = System.nanoTime();
        for (Item item : items) {
            item.use(first);
        }
        SPENT.addAndGet(System.nanoTime() - begun);
        return items;
    }

    private static Item made(Item like) {
        Item item = like.another();
        long begun = System.nanoTime();
        item.use(first);
        SPENT.addAndGet(System.nanoTime() - begun);
        return item;
    }

    private static void take(Item... items) {
        long begun = System.nanoTime();
        for (Item item : items) {
            item.use(TAKEN);
        }
        SPENT.addAndGet(System.nanoTime() - begun);
    }

    /** One thread makes all, and does something; another takes them meanwhile, or behind its end. */
    private static void handOver(Item like, Runnable meanwhile) throws Exception {
        stop = false;
        Item[][] items = new Item[1][];
        CountDownLatch ready = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            items[0] = made(like, objects);
            ready.countDown();
            meanwhile.run();
        });
        owner.start();
        ready.await();
        for (int tries = 0; tries < 5 && owner.isAlive(); tries++) {
            Thread.sleep(1); // until it is parked, or has ended
        }
        take(items[0]);
        stop = true;
        LockSupport.unpark(owner);
        owner.join();
    }

    /** Some threads make a part each and end. */
    private static void builders(Item like) throws Exception {
        Item[][] items = new Item[BUILDERS][];
        Thread[] threads = new Thread[BUILDERS];
        for (int number = 0; number < BUILDERS; number++) {
            int part = number;
            threads[part] = new Thread(() -> items[part] = made(like, objects / BUILDERS));
            threads[part].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Item[] part : items) {
            take(part);
        }
    }

    /** Workers of a pool make some, and wait for more work. */
    private static void pool(Item like, ExecutorService pool) throws Exception {
        List<Callable<Item[]>> parts =
                Collections.nCopies(BUILDERS, () -> made(like, objects / BUILDERS));
        for (Future<Item[]> part : pool.invokeAll(parts)) {
            take(part.get());
        }
    }

    /** A first thread makes one after the other, and a queue whose ends park hands them over. */
    private static void pipeline(Item like) throws Exception {
        BlockingQueue<Item> queue = new ArrayBlockingQueue<>(8);
        Thread second = new Thread(() -> {
            try {
                for (int number = 0; number < objects; number++) {
                    take(queue.take());
                }
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        second.start();
        for (int number = 0; number < objects; number++) {
            queue.put(made(like));
        }
        second.join();
    }

    /** The same with a queue whose ends wait at a monitor, and a maker that waits for the taker. */
    private static void monitor(Item like) throws Exception {
        Queue<Item> queue = new ArrayDeque<>();
        Thread second = new Thread(() -> {
            try {
                for (int number = 0; number < objects; number++) {
                    Item item;
                    synchronized (queue) {
                        while (queue.isEmpty()) {
                            queue.wait();
                        }
                        item = queue.peek();
                    }
                    take(item);
                    synchronized (queue) {
                        queue.remove();
                        queue.notifyAll();
                    }
                }
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        second.start();
        for (int number = 0; number < objects; number++) {
            Item item = made(like);
            synchronized (queue) {
                queue.add(item);
                queue.notifyAll();
                while (!queue.isEmpty()) {
                    queue.wait();
                }
            }
        }
        second.join();
    }

    /** Both threads run: the slots of a ring hand the objects over, and nobody waits but by looking. */
    private static void ring(Item like) throws Exception {
        AtomicReferenceArray<Item> slots = new AtomicReferenceArray<>(8);
        Thread second = new Thread(() -> {
            for (int number = 0; number < objects; number++) {
                int slot = number % slots.length();
                Item item;
                while ((item = slots.get(slot)) == null) {
                    Thread.onSpinWait();
                }
                take(item);
                slots.set(slot, null);
            }
        });
        second.start();
        for (int number = 0; number < objects; number++) {
            Item item = made(like);
            while (slots.get(number % slots.length()) != null) {
                Thread.onSpinWait();
            }
            slots.set(number % slots.length(), item);
        }
        while (second.isAlive()) { // runs on
            Thread.onSpinWait();
        }
        second.join();
    }
}
