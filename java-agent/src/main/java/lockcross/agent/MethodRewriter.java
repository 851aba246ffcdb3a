package lockcross.agent;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Lets one method tell the recorder of each monitor that it enters or leaves.
 *
 * <p>A call can fail where the program's own code cannot: with a StackOverflowError, when there is
 * no room for its frame. So no call may stand between a monitor and the exit that an exception takes:
 * whatever such a call throws goes on to that exit, and never back to the call.
 */
final class MethodRewriter implements Opcodes {
    private static final String ENTERED = "(Ljava/lang/Object;IJI)V";
    private static final String TAKES_OBJECT = "(Ljava/lang/Object;)V";
    private static final String TAKES_SITE = "(Ljava/lang/Object;I)V";
    private static final String THROWABLE = "java/lang/Throwable";
    private static final int MORE_STACK = 8; // words that a sequence below needs at most
    private static final int CLASS_CONSTANTS = 49; // the first version of class files with them
    private static final int FRAMES = 50; // likewise

    private final MethodNode method;
    private final String type;
    private final int version;
    private final Sites.OfMethod sites;

    MethodRewriter(MethodNode method, String type, int version, Sites.OfMethod sites) {
        this.method = method;
        this.type = type;
        this.version = version & 0xFFFF;
        this.sites = sites;
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
        int free = method.maxLocals;
        for (AbstractInsnNode one : method.instructions.toArray()) {
            if (one instanceof LineNumberNode) {
                line = ((LineNumberNode) one).line;
                first = first == 0 ? line : first;
            } else if (one.getOpcode() == MONITORENTER) {
                enter(one, line);
            } else if (one.getOpcode() == MONITOREXIT) {
                exit(one);
            } else if (one.getOpcode() == INVOKEVIRTUAL || one.getOpcode() == INVOKESPECIAL) {
                MethodInsnNode call = (MethodInsnNode) one;
                if (Notification.of(call.name, call.desc) != null) {
                    notification(call, line, free);
                }
            } else if (one instanceof InvokeDynamicInsnNode) {
                references((InvokeDynamicInsnNode) one);
            }
        }
        method.maxStack += MORE_STACK;
        return (method.access & ACC_SYNCHRONIZED) == 0 || synchronize(strip, first);
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
        behind.add(entered(sites.add("block", line)));
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

    /**
     * At monitorexit. Where an exception has led there, what tells of it stands at the beginning of
     * the handler, and the handler's own range begins behind it. Of code that no known compiler
     * writes, whose handler catches what it throws itself, it is told when the monitor is left.
     */
    private void exit(AbstractInsnNode exit) {
        LabelNode handler = handlerOf(exit);
        if (handler != null) {
            tellFirst(handler, ((VarInsnNode) previous(exit)).var);
        } else if (catchesItself(exit)) {
            tellBehind(exit);
        } else {
            method.instructions.insertBefore(exit, leaving(new InsnNode(DUP)));
        }
    }

    /**
     * The handler of all exceptions that does nothing before this but keep what was thrown, or null.
     */
    private LabelNode handlerOf(AbstractInsnNode exit) {
        AbstractInsnNode object = previous(exit);
        if (object == null || object.getOpcode() != ALOAD) {
            return null;
        }
        AbstractInsnNode one = object.getPrevious();
        while (one != null && !(one instanceof LabelNode && isHandler((LabelNode) one))) {
            boolean keeps = one.getOpcode() == ASTORE
                    && ((VarInsnNode) one).var != ((VarInsnNode) object).var;
            boolean joined = one instanceof FrameNode && !isFirst((FrameNode) one);
            if (joined || one.getOpcode() >= 0 && one.getOpcode() != NOP && !keeps) {
                return null;
            }
            one = one.getPrevious();
        }
        return (LabelNode) one;
    }

    private boolean isHandler(LabelNode label) {
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            if (block.handler == label && block.type == null) {
                return true;
            }
        }
        return false;
    }

    /** Whether a frame is that of a handler, not one behind where other paths come in. */
    private boolean isFirst(FrameNode frame) {
        AbstractInsnNode one = frame;
        while (one != null && one.getOpcode() < 0) {
            if (one instanceof LabelNode && isHandler((LabelNode) one)) {
                return true;
            }
            one = one.getPrevious();
        }
        return false;
    }

    /** Whether there are instructions between two labels: a range without any is refused. */
    private static boolean hasCode(LabelNode from, LabelNode to) {
        AbstractInsnNode one = from;
        while (one != null && one != to && one.getOpcode() < 0) {
            one = one.getNext();
        }
        return one != null && one != to;
    }

    /** The instruction before a place. */
    private static AbstractInsnNode previous(AbstractInsnNode place) {
        AbstractInsnNode one = place.getPrevious();
        while (one != null && one.getOpcode() < 0) {
            one = one.getPrevious();
        }
        return one;
    }

    private boolean catchesItself(AbstractInsnNode place) {
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            if (leadsBack(block, place)) {
                return true;
            }
        }
        return false;
    }

    /** Whether what is thrown at a place is caught at or before it. */
    private boolean leadsBack(TryCatchBlockNode block, AbstractInsnNode place) {
        int at = method.instructions.indexOf(place);
        return method.instructions.indexOf(block.start) <= at
                && at < method.instructions.indexOf(block.end)
                && method.instructions.indexOf(block.handler) <= at;
    }

    /** At the beginning of a handler; what it did until now begins behind that, with what it caught. */
    private void tellFirst(LabelNode handler, int object) {
        AbstractInsnNode begin = handler;
        FrameNode frame = null;
        for (AbstractInsnNode one = handler; one != null && one.getOpcode() < 0;
                one = one.getNext()) {
            if (one instanceof FrameNode) {
                frame = (FrameNode) one;
                begin = one;
            }
        }
        LabelNode rest = new LabelNode();
        InsnList first = new InsnList();
        first.add(leaving(new VarInsnNode(ALOAD, object)));
        first.add(new JumpInsnNode(GOTO, rest));
        LabelNode failed = new LabelNode();
        first.add(failed);
        addFrame(first, frame);
        first.add(tear());
        first.add(rest);
        addFrame(first, frame);
        method.instructions.insert(begin, first);
        List<TryCatchBlockNode> blocks = new ArrayList<>();
        blocks.add(new TryCatchBlockNode(handler, failed, failed, null));
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            if (block.start != handler) {
                blocks.add(block);
            }
            if (block.handler == handler && leadsBack(block, handler)) {
                blocks.add(new TryCatchBlockNode(rest, block.end, rest, block.type));
                block.end = handler;
            } else if (block.start == handler) {
                blocks.add(block);
            }
        }
        method.tryCatchBlocks = blocks;
    }

    /** The frame of a handler once more, behind that handler's own: the same locals, one word. */
    private static void addFrame(InsnList list, FrameNode frame) {
        if (frame != null) {
            list.add(new FrameNode(F_SAME1, 0, null, 1, frame.stack.toArray()));
        }
    }

    /** Behind monitorexit, in no range that it is in itself. */
    private void tellBehind(AbstractInsnNode exit) {
        LabelNode from = new LabelNode();
        LabelNode to = new LabelNode();
        InsnList behind = new InsnList();
        behind.add(from);
        behind.add(call("leaving", TAKES_OBJECT));
        behind.add(to);
        method.instructions.insertBefore(exit, new InsnNode(DUP));
        method.instructions.insert(exit, behind);
        List<TryCatchBlockNode> parts = new ArrayList<>();
        for (TryCatchBlockNode block : method.tryCatchBlocks) {
            parts.add(block);
            if (leadsBack(block, exit)) {
                if (hasCode(to, block.end)) {
                    parts.add(new TryCatchBlockNode(to, block.end, block.handler, block.type));
                }
                block.end = from;
            }
        }
        method.tryCatchBlocks = parts;
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

    /** Notes, without a call, that a release could not be told. */
    private static InsnList tear() {
        InsnList list = new InsnList();
        list.add(new FieldInsnNode(GETSTATIC, Bridge.NAME, Bridge.TORN, "[I"));
        list.add(new InsnNode(ICONST_0));
        list.add(new InsnNode(DUP2));
        list.add(new InsnNode(IALOAD));
        list.add(new InsnNode(ICONST_1));
        list.add(new InsnNode(IADD));
        list.add(new InsnNode(IASTORE));
        return list;
    }

    /**
     * Around a wait or a notification, which stays the program's own: its exceptions have no frame of
     * the recorder's. The arguments are put into locals, to have the object beneath them.
     */
    private void notification(MethodInsnNode call, int line, int free) {
        Notification kind = Notification.of(call.name, call.desc);
        Type[] arguments = Type.getArgumentTypes(call.desc);
        InsnList begin = new InsnList();
        InsnList again = new InsnList();
        int local = free + 1;
        for (Type argument : arguments) {
            begin.insert(new VarInsnNode(argument.getOpcode(ISTORE), local));
            again.add(new VarInsnNode(argument.getOpcode(ILOAD), local));
            local += argument.getSize();
        }
        begin.add(new InsnNode(DUP));
        if (kind.waits) {
            begin.add(new InsnNode(DUP));
            begin.add(new VarInsnNode(ASTORE, free));
        }
        for (AbstractInsnNode one : again.toArray()) {
            begin.add(one.clone(Collections.emptyMap()));
        }
        begin.add(number(sites.add(call.name, line)));
        String types = call.desc.substring(1, call.desc.indexOf(')'));
        begin.add(call(kind.begins, "(Ljava/lang/Object;" + types + "I)V"));
        begin.add(again);
        method.instructions.insertBefore(call, begin);
        if (kind.waits) {
            InsnList end = new InsnList();
            end.add(new VarInsnNode(ALOAD, free));
            end.add(call("waited", TAKES_OBJECT));
            method.instructions.insert(call, end);
            method.maxLocals = Math.max(method.maxLocals, local);
        } else {
            method.maxLocals = Math.max(method.maxLocals, free + 1);
        }
    }

    /** A reference to a method that waits or notifies, `object::wait`: to the recorder's own. */
    private static void references(InvokeDynamicInsnNode made) {
        Notification kind = Notification.of(made.bsm, made.bsmArgs);
        if (kind != null) {
            Handle method = (Handle) made.bsmArgs[Notification.REFERENCE];
            made.bsmArgs[Notification.REFERENCE] = new Handle(
                    H_INVOKESTATIC, Bridge.NAME, kind.whole,
                    "(Ljava/lang/Object;" + method.getDesc().substring(1), false);
            if (Type.getArgumentTypes(made.desc).length > 0) { // the object is in the reference
                made.desc = "(Ljava/lang/Object;)" + Type.getReturnType(made.desc);
            }
        }
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
        int site = sites.add("method", line);
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
                method.instructions.insertBefore(one, leaving(object(isStatic)));
                if (strip) {
                    method.instructions.insertBefore(one, leave(isStatic));
                }
                method.instructions.insertBefore(one, left);
                method.tryCatchBlocks.add(new TryCatchBlockNode(held, left, handler, null));
                held = new LabelNode();
                method.instructions.insert(one, held);
            }
        }
        method.instructions.insert(begin);
        method.instructions.add(handler);
        if (hasCode(held, handler)) {
            method.tryCatchBlocks.add(new TryCatchBlockNode(held, handler, handler, null));
        }
        thrown(handler, isStatic, strip);
        return true;
    }

    /** Behind the handler of a synchronized method: what an exception that leaves it goes through. */
    private void thrown(LabelNode handler, boolean isStatic, boolean strip) {
        LabelNode failed = new LabelNode();
        LabelNode rest = new LabelNode();
        LabelNode to = new LabelNode();
        Object[] locals = isStatic ? new Object[0] : new Object[] {type};
        Object[] stack = {THROWABLE};
        FrameNode frame = new FrameNode(F_FULL, locals.length, locals, 1, stack);
        InsnList list = new InsnList();
        list.add(framed(frame));
        list.add(leaving(object(isStatic)));
        list.add(new JumpInsnNode(GOTO, rest));
        list.add(failed);
        list.add(framed(frame));
        list.add(tear());
        list.add(rest);
        list.add(framed(frame));
        if (strip) {
            list.add(leave(isStatic));
        }
        list.add(to);
        list.add(new InsnNode(ATHROW));
        method.instructions.add(list);
        method.tryCatchBlocks.add(new TryCatchBlockNode(handler, failed, failed, null));
        if (strip) { // as compilers have it: what leaves a monitor is tried until it is left
            method.tryCatchBlocks.add(new TryCatchBlockNode(rest, to, rest, null));
        }
    }

    private InsnList framed(FrameNode frame) {
        InsnList list = new InsnList();
        if (version >= FRAMES) {
            list.add(frame.clone(Collections.emptyMap()));
        }
        return list;
    }

    private InsnList leave(boolean isStatic) {
        InsnList list = new InsnList();
        list.add(object(isStatic));
        list.add(new InsnNode(MONITOREXIT));
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

    private static AbstractInsnNode number(int value) {
        return new LdcInsnNode(value);
    }

    private static MethodInsnNode call(String name, String descriptor) {
        return new MethodInsnNode(INVOKESTATIC, Bridge.NAME, name, descriptor, false);
    }
}
