package lockcross.agent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.util.CheckClassAdapter;

/** Rewriting, on methods that javac does not make and on those that it does. */
class RewriterTest implements Opcodes {
    /** What fails to verify in a class, or nothing. */
    private static String faults(byte[] content) {
        StringWriter said = new StringWriter();
        CheckClassAdapter.verify(new ClassReader(content), false, new PrintWriter(said));
        return said.toString();
    }

    private static byte[] rewritten(byte[] content, boolean loaded) {
        Rewriter rewriter = new Rewriter();
        Class<?> known = loaded ? RewriterTest.class : null;
        return rewriter.transform(null, new ClassReader(content).getClassName(), known, null, content);
    }

    private static MethodNode method(byte[] content, String name) {
        ClassNode node = new ClassNode();
        new ClassReader(content).accept(node, 0);
        return node.methods.stream().filter(one -> one.name.equals(name)).findAny().orElseThrow();
    }

    private static int made;

    /** A class with one method, whose code `code` has. */
    private static byte[] made(int version, int access, java.util.function.Consumer<MethodVisitor> code) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES);
        writer.visit(version, ACC_PUBLIC, "some/Name" + ++made, null, "java/lang/Object", null);
        MethodVisitor method = writer.visitMethod(access, "run", "(Ljava/lang/Object;)V", null, null);
        method.visitCode();
        code.accept(method);
        method.visitMaxs(0, 0);
        method.visitEnd();
        writer.visitEnd();
        return writer.toByteArray();
    }

    /** A synchronized block as javac has it, with a loop that begins where the monitor is had. */
    private static byte[] block(Label begin) {
        return made(V11, ACC_PUBLIC | ACC_STATIC, method -> {
            Label end = new Label();
            Label handler = new Label();
            Label handled = new Label();
            method.visitTryCatchBlock(begin, end, handler, null);
            method.visitTryCatchBlock(handler, handled, handler, null);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITORENTER);
            method.visitLabel(begin); // also where a loop begins: it must not tell again
            method.visitInsn(ICONST_0);
            method.visitJumpInsn(IFNE, begin);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITOREXIT);
            method.visitLabel(end);
            method.visitInsn(RETURN);
            method.visitLabel(handler);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITOREXIT);
            method.visitLabel(handled);
            method.visitInsn(ATHROW);
        });
    }

    @Test
    void aClassWithoutMonitorsStaysAsItIs() {
        byte[] plain = made(V11, ACC_PUBLIC | ACC_STATIC, method -> method.visitInsn(RETURN));
        assertEquals(null, rewritten(plain, false));
    }

    @Test
    void theHandlerCoversWhatIsToldOfAnAcquisition() {
        Label begin = new Label();
        byte[] done = rewritten(block(begin), false);
        assertEquals("", faults(done));
        MethodNode node = method(done, "run");
        TryCatchBlockNode first = node.tryCatchBlocks.get(1); // behind that of the handler
        int enter = -1;
        int told = -1;
        for (int place = 0; place < node.instructions.size(); place++) {
            if (node.instructions.get(place).getOpcode() == MONITORENTER) {
                enter = place;
            } else if (enter >= 0 && told < 0
                    && node.instructions.get(place).getOpcode() == INVOKESTATIC) {
                told = place;
            }
        }
        int covered = node.instructions.indexOf(first.start);
        assertTrue(enter < covered && covered < told, enter + " " + covered + " " + told);
        // The loop goes back behind what is told.
        int back = -1;
        for (int place = 0; place < node.instructions.size(); place++) {
            if (node.instructions.get(place).getOpcode() == IFNE) {
                back = node.instructions.indexOf(((org.objectweb.asm.tree.JumpInsnNode)
                        node.instructions.get(place)).label);
            }
        }
        assertTrue(told < back, told + " " + back);
    }

    /** Else an error in such a call leads to the call again, for ever. */
    @Test
    void noCallLeadsBackToItself() {
        byte[] synchronizedMethod =
                made(V11, ACC_PUBLIC | ACC_SYNCHRONIZED, method -> method.visitInsn(RETURN));
        byte[] odd = made(V11, ACC_PUBLIC | ACC_STATIC, method -> { // its handler does more
            Label begin = new Label();
            Label handler = new Label();
            Label end = new Label();
            method.visitTryCatchBlock(begin, handler, handler, null);
            method.visitTryCatchBlock(handler, end, handler, null);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITORENTER);
            method.visitLabel(begin);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITOREXIT);
            method.visitInsn(RETURN);
            method.visitLabel(handler);
            method.visitInsn(POP);
            method.visitVarInsn(ALOAD, 0);
            method.visitInsn(MONITOREXIT);
            method.visitInsn(RETURN);
            method.visitLabel(end);
        });
        for (byte[] plain : new byte[][] {synchronizedMethod, block(new Label()), odd}) {
            byte[] done = rewritten(plain, false);
            assertEquals("", faults(done));
            MethodNode node = method(done, "run");
            int calls = 0;
            for (int place = 0; place < node.instructions.size(); place++) {
                if (node.instructions.get(place).getOpcode() != INVOKESTATIC) {
                    continue;
                }
                calls++;
                for (TryCatchBlockNode block : node.tryCatchBlocks) {
                    if (node.instructions.indexOf(block.start) <= place
                            && place < node.instructions.indexOf(block.end)) {
                        assertTrue(node.instructions.indexOf(block.handler) > place);
                        break;
                    }
                }
            }
            assertEquals(5, calls);
        }
    }

    @Test
    void aSynchronizedMethodTakesItsMonitorInSightWhenItIsLoaded() {
        byte[] plain = made(V11, ACC_PUBLIC | ACC_SYNCHRONIZED, method -> method.visitInsn(RETURN));
        byte[] before = rewritten(plain, true); // loaded before the agent was there
        assertEquals("", faults(before));
        assertEquals(ACC_SYNCHRONIZED, method(before, "run").access & ACC_SYNCHRONIZED);
        byte[] done = rewritten(plain, false);
        assertEquals("", faults(done));
        assertEquals(0, method(done, "run").access & ACC_SYNCHRONIZED);
        // Another agent has it transformed again: the same, numbers of sites too.
        assertArrayEquals(done, rewritten(plain, true));
    }

    @Test
    void whatOverwritesThisIsLeftToTheJvm() {
        byte[] odd = made(V11, ACC_PUBLIC | ACC_SYNCHRONIZED, method -> {
            method.visitInsn(ACONST_NULL);
            method.visitVarInsn(ASTORE, 0);
            method.visitInsn(RETURN);
        });
        byte[] done = rewritten(odd, false);
        assertEquals("", faults(done));
        assertEquals(ACC_SYNCHRONIZED, method(done, "run").access & ACC_SYNCHRONIZED);
    }

    @Test
    void aStaticMethodOfAnOldClassFileIsLeftToTheJvm() {
        int access = ACC_PUBLIC | ACC_STATIC | ACC_SYNCHRONIZED;
        byte[] old = rewritten(made(V1_4, access, method -> method.visitInsn(RETURN)), false);
        assertEquals(access, method(old, "run").access);
        byte[] young = rewritten(made(V1_5, access, method -> method.visitInsn(RETURN)), false);
        assertEquals(access & ~ACC_SYNCHRONIZED, method(young, "run").access);
    }

    @Test
    void optionsAreReadAndMistakesNamed() {
        Options options = Options.of("most=5000000;sample=16;output=/tmp/a;b=c");
        assertEquals("/tmp/a;b=c", options.output.toString());
        assertEquals(5_000_000, options.most);
        assertEquals(16, options.sample);
        for (String wrong : new String[] {
            "", "most=1;output=a", "sample=3;output=a", "colour=2;output=a", "most=x;output=a", "output="
        }) {
            assertThrows(IllegalArgumentException.class, () -> Options.of(wrong), wrong);
        }
    }

    @Test
    void theRecorderAndObjectAreNotRewritten() {
        assertTrue(Rewriter.isOurs("lockcross/record/Recorder"));
        assertTrue(Rewriter.isOurs("java/lang/Object"));
        assertFalse(Rewriter.isOurs("java/util/Vector"));
    }
}
