package lockcross.agent;

import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;

/**
 * The methods of Object that wait or notify. They are final, so a call of their name and type is
 * theirs, whatever class it names.
 */
enum Notification {
    WAIT(true, "waiting", "await"),
    NOTIFY(false, "notifying", "signal"),
    NOTIFY_ALL(false, "notifyingAll", "signalAll");

    /** Which argument of what makes a reference to a method that method is. */
    static final int REFERENCE = 1;

    final boolean waits;
    /** The recorder's method that is called before. */
    final String begins;
    /** The one that stands for the whole, where no code of the program's calls it. */
    final String whole;

    Notification(boolean waits, String begins, String whole) {
        this.waits = waits;
        this.begins = begins;
        this.whole = whole;
    }

    /** Null for all else. */
    static Notification of(String name, String descriptor) {
        switch (name + descriptor) {
            case "wait()V":
            case "wait(J)V":
            case "wait(JI)V":
                return WAIT;
            case "notify()V":
                return NOTIFY;
            case "notifyAll()V":
                return NOTIFY_ALL;
            default:
                return null;
        }
    }

    /** What a method reference refers to. Null for all else, also for one that can be serialized:
     * that is known by the method's name. */
    static Notification of(Handle maker, Object[] arguments) {
        if (!maker.getOwner().equals("java/lang/invoke/LambdaMetafactory")
                || !maker.getName().equals("metafactory")
                || !(arguments[REFERENCE] instanceof Handle)) {
            return null;
        }
        Handle method = (Handle) arguments[REFERENCE];
        return method.getTag() == Opcodes.H_INVOKEVIRTUAL
                ? of(method.getName(), method.getDesc()) : null;
    }
}
