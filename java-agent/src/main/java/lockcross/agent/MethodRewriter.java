package lockcross.agent;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/** Lets one method tell the recorder of each monitor that it enters or leaves. */
final class MethodRewriter implements Opcodes {
    private static final String RECORDER = "lockcross/record/Recorder";
    private static final String ENTERED = "(Ljava/lang/Object;IJI)V";
    private static final String TAKES_OBJECT = "(Ljava/lang/Object;)V";
    private static final String TAKES_SITE = "(Ljava/lang/Object;I)V";
    private static final int MORE_STACK = 8; // words that a sequence below needs at most
    private static final int CLASS_CONSTANTS = 49; // the first version of class files with them
    private static final int FRAMES = 50; // likewise

    private final MethodNode method;
    private final String type;
    private final String file;
    private final int version;
    private final boolean jdk;

    MethodRewriter(MethodNode method, String type, String file, int version, boolean jdk) {
        this.method = method;
        this.type = type;
        this.file = file;
        this.version = version & 0xFFFF;
        this.jdk = jdk;
    }

    /**
     * Rewrites it.
     *
     * @param strip whether a synchronized method may take its monitor by itself, in sight
     * @return whether all that it does is told
     */
    boolean rewrite(boolean strip) {
        int line = 0;
        int first = 0;
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one instanceof LineNumberNode) {
                line = ((LineNumberNode) one).line;
                first = first == 0 ? line : first;
            } else if (one.getOpcode() == MONITORENTER) {
                enter(one, line);
            } else if (one.getOpcode() == MONITOREXIT) {
                method.instructions.insertBefore(one, leaving(new InsnNode(DUP)));
            } else if (one.getOpcode() == INVOKEVIRTUAL || one.getOpcode() == INVOKESPECIAL) {
                MethodInsnNode call = (MethodInsnNode) one;
                String name = notification(call.name, call.desc);
                if (name != null) {
                    replace(call, name, line);
                }
            }
        }
        method.maxStack += MORE_STACK;
        return (method.access & ACC_SYNCHRONIZED) == 0 || synchronize(strip, first);
    }

    /** What stands for a method of Object that waits or notifies: they are final, so a call of
     * their name and type is theirs, whatever class it names. Null for all else. */
    static String notification(String name, String descriptor) {
        if (name.equals("wait") && (descriptor.equals("()V") || descriptor.equals("(J)V")
                || descriptor.equals("(JI)V"))) {
            return "await";
        }
        if (descriptor.equals("()V")) {
            return name.equals("notify") ? "signal" : name.equals("notifyAll") ? "signalAll" : null;
        }
        return null;
    }

    /**
     * Around monitorenter. What tells of it lies behind it and within the range of the handler that
     * leaves the monitor: where an exception could pass between the two, the JVM's compiler refuses
     * the method.
     */
    private void enter(AbstractInsnNode enter, int line) {
        method.instructions.insertBefore(enter, before());
        LabelNode begin = new LabelNode();
        InsnList behind = new InsnList();
        behind.add(begin);
        behind.add(entered(site("block", line)));
        List<LabelNode> next = labelsBehind(enter);
        method.instructions.insert(enter, behind);
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            if (next.contains(block.start)) {
                block.start = begin;
            }
        }
    }

    /** The labels between an instruction and the next one. */
    private static List<LabelNode> labelsBehind(AbstractInsnNode place) {
        List<LabelNode> labels = new ArrayList<>();
        for (AbstractInsnNode one = place.getNext(); one != null && one.getOpcode() < 0;
                one = one.getNext()) {
            if (one instanceof LabelNode) {
                labels.add((LabelNode) one);
            }
        }
        return labels;
    }

    /** Object on the stack: object, identity, time, object. */
    private static InsnList before() {
        InsnList list = new InsnList();
        list.add(new InsnNode(DUP));
        list.add(call("identity", "(Ljava/lang/Object;)I"));
        list.add(new InsnNode(DUP2));
        list.add(new InsnNode(POP));
        list.add(call("begin", "()J"));
        list.add(new InsnNode(DUP2_X1));
        list.add(new InsnNode(POP2));
        return list;
    }

    /** Object, identity, time on the stack: nothing. */
    private static InsnList entered(int site) {
        InsnList list = new InsnList();
        list.add(number(site));
        list.add(call("entered", ENTERED));
        return list;
    }

    private static InsnList leaving(AbstractInsnNode object) {
        InsnList list = new InsnList();
        list.add(object);
        list.add(call("leaving", TAKES_OBJECT));
        return list;
    }

    private void replace(MethodInsnNode call, String name, int line) {
        String arguments = call.desc.substring(1, call.desc.indexOf(')'));
        method.instructions.insertBefore(call, number(site(call.name, line)));
        call.setOpcode(INVOKESTATIC);
        call.owner = RECORDER;
        call.name = name;
        call.desc = "(Ljava/lang/Object;" + arguments + "I)V";
        call.itf = false;
    }

    /**
     * A synchronized method: it tells at its beginning, at each of its ends, and where an exception
     * leaves it. False where its object cannot be named there.
     */
    private boolean synchronize(boolean strip, int line) {
        boolean isStatic = (method.access & ACC_STATIC) != 0;
        if (isStatic ? version < CLASS_CONSTANTS : overwritesThis()) {
            return false;
        }
        InsnList begin = new InsnList();
        LabelNode from = new LabelNode();
        int site = site("method", line);
        begin.add(object(isStatic));
        if (strip) {
            method.access &= ~ACC_SYNCHRONIZED;
            begin.add(before());
            begin.add(new InsnNode(MONITORENTER));
            begin.add(from);
            begin.add(entered(site));
        } else {
            begin.add(from);
            begin.add(number(site));
            begin.add(call("enteredMethod", TAKES_SITE));
        }
        LabelNode handler = new LabelNode();
        LabelNode held = from;
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one.getOpcode() >= IRETURN && one.getOpcode() <= RETURN) {
                // The return itself is in no range: the monitor is left there.
                LabelNode left = new LabelNode();
                method.instructions.insertBefore(one, end(isStatic, strip));
                method.instructions.insertBefore(one, left);
                method.tryCatchBlocks.add(new TryCatchBlockNode(held, left, handler, null));
                held = new LabelNode();
                method.instructions.insert(one, held);
            }
        }
        method.instructions.insert(begin);
        LabelNode to = new LabelNode();
        method.instructions.add(handler);
        if (version >= FRAMES) {
            Object[] locals = isStatic ? new Object[0] : new Object[] {type};
            Object[] stack = {"java/lang/Throwable"};
            method.instructions.add(new FrameNode(F_FULL, locals.length, locals, 1, stack));
        }
        method.instructions.add(end(isStatic, strip));
        method.instructions.add(to);
        method.instructions.add(new InsnNode(ATHROW));
        method.tryCatchBlocks.add(new TryCatchBlockNode(held, to, handler, null));
        return true;
    }

    private InsnList end(boolean isStatic, boolean strip) {
        InsnList list = leaving(object(isStatic));
        if (strip) {
            list.add(object(isStatic));
            list.add(new InsnNode(MONITOREXIT));
        }
        return list;
    }

    private AbstractInsnNode object(boolean isStatic) {
        return isStatic ? new LdcInsnNode(Type.getObjectType(type)) : new VarInsnNode(ALOAD, 0);
    }

    private boolean overwritesThis() {
        for (AbstractInsnNode one : method.instructions) {
            if (one.getOpcode() >= ISTORE && one.getOpcode() <= ASTORE
                    && ((VarInsnNode) one).var == 0) {
                return true;
            }
        }
        return false;
    }

    private int site(String what, int line) {
        return Sites.add(type, method.name, file, line, what, jdk);
    }

    private static AbstractInsnNode number(int value) {
        return new LdcInsnNode(value);
    }

    private static MethodInsnNode call(String name, String descriptor) {
        return new MethodInsnNode(INVOKESTATIC, RECORDER, name, descriptor, false);
    }
}
