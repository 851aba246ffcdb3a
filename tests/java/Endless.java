/** Locks for so many milliseconds, then ends with the exit code that is its second argument. */
public class Endless {
    public static void main(String[] arguments) {
        Object one = new Object();
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        int count = 0;
        System.out.println("begun");
        while (System.nanoTime() < end) {
            synchronized (one) {
                count++;
            }
        }
        System.out.println("count " + count);
        System.exit(Integer.parseInt(arguments[1]));
    }
}
