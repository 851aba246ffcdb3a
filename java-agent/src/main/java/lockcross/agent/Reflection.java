package lockcross.agent;

import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/** Method.invoke tells the recorder what it calls: it may be a method that waits or notifies. */
final class Reflection implements Opcodes {
    private Reflection() {}

    static boolean isInvoke(String type, String method) {
        return type.equals("java/lang/reflect/Method") && method.equals("invoke");
    }

    static void rewrite(MethodNode invoke) {
        for (AbstractInsnNode one : invoke.instructions.toArray()) {
            if (one.getOpcode() == ARETURN) {
                invoke.instructions.insertBefore(
                        one, told("invoked", "(Ljava/lang/Object;Ljava/lang/Object;)V", 2));
            }
        }
        invoke.instructions.insert(told(
                "invoking", "(Ljava/lang/Object;Ljava/lang/Object;[Ljava/lang/Object;)V", 3));
        invoke.maxStack += 3;
    }

    /** A call with the first local variables: the method itself, the object, the arguments. */
    private static InsnList told(String name, String descriptor, int count) {
        InsnList list = new InsnList();
        for (int local = 0; local < count; local++) {
            list.add(new VarInsnNode(ALOAD, local));
        }
        list.add(new MethodInsnNode(INVOKESTATIC, Bridge.NAME, name, descriptor, false));
        return list;
    }
}
