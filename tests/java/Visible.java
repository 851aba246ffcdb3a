/** Prints what a program can see of how it waits, notifies and locks. */
public class Visible {
    private static void say(Throwable error) {
        System.out.println(error.getMessage() + ", at " + error.getStackTrace()[0]
                + " of " + error.getStackTrace().length);
    }

    public static void main(String[] arguments) throws Exception {
        Object nothing = null;
        try {
            nothing.notify();
        } catch (NullPointerException error) {
            say(error);
        }
        try {
            synchronized (nothing) {
                System.out.println("held");
            }
        } catch (NullPointerException error) {
            say(error);
        }
        try {
            nothing.wait(1, 2);
        } catch (NullPointerException error) {
            say(error);
        }
        try {
            new Object().wait();
        } catch (IllegalMonitorStateException error) {
            say(error);
        }
        try {
            synchronized (Visible.class) {
                Visible.class.wait(-1);
            }
        } catch (IllegalArgumentException error) {
            say(error);
        }
        Thread.currentThread().interrupt();
        try {
            synchronized (Visible.class) {
                Visible.class.wait();
            }
        } catch (InterruptedException error) {
            say(error);
        }
    }
}
