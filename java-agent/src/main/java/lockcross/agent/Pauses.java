package lockcross.agent;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/** A thread tells the recorder when it is parked, when it goes on, and when it ends. */
final class Pauses implements Opcodes {
    private static final String THREAD = "java/lang/Thread";
    private static final String LOCK_SUPPORT = "java/util/concurrent/locks/LockSupport";

    private Pauses() {}

    /** The JVM calls Thread.exit as a thread ends, before those that join it go on. */
    static boolean isOne(String type, String method) {
        return type.equals(LOCK_SUPPORT) && method.startsWith("park")
                || type.equals(THREAD) && method.equals("exit");
    }

    static void rewrite(MethodNode method) {
        if (method.name.equals("exit")) {
            method.instructions.insert(told("ending"));
            return;
        }
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one.getOpcode() == RETURN) {
                method.instructions.insertBefore(one, told("parked"));
            }
        }
        method.instructions.insert(told("parking"));
    }

    private static MethodInsnNode told(String name) {
        return new MethodInsnNode(INVOKESTATIC, Bridge.NAME, name, "()V", false);
    }
}
