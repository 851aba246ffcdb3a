package lockcross.agent;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import lockcross.record.Recorder;
import lockcross.record.ThreadFacts;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * The class that rewritten classes name. It passes on to {@link Recorder}, and is made as the agent
 * begins, in the package java.lang: no class loader may have that package to itself, so all but
 * those that know the JDK's classes by a list hand it up to the JVM's own.
 */
final class Bridge implements Opcodes {
    static final String NAME = "java/lang/LockcrossRecorder";
    static final String TORN = "TORN";

    private static final String THREADS = "java/lang/LockcrossThreads";
    private static final int VIRTUAL_THREADS = 21; // the first JDK that has them

    private Bridge() {}

    /** Makes the class. The package java.lang is open to the recorder's module. */
    static void define() throws ReflectiveOperationException {
        String recorder = Type.getInternalName(Recorder.class);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(V11, ACC_PUBLIC | ACC_FINAL | ACC_SYNTHETIC, NAME, null, "java/lang/Object", null);
        writer.visitField(ACC_PUBLIC | ACC_STATIC | ACC_FINAL, TORN, "[I", null, null).visitEnd();
        MethodVisitor first = writer.visitMethod(ACC_STATIC, "<clinit>", "()V", null, null);
        first.visitCode();
        first.visitFieldInsn(GETSTATIC, recorder, TORN, "[I");
        first.visitFieldInsn(PUTSTATIC, NAME, TORN, "[I");
        first.visitInsn(RETURN);
        first.visitMaxs(0, 0);
        first.visitEnd();
        for (Method one : Recorder.class.getDeclaredMethods()) {
            if (Modifier.isPublic(one.getModifiers())) {
                pass(writer, one, recorder);
            }
        }
        writer.visitEnd();
        made(writer);
        if (Runtime.version().feature() >= VIRTUAL_THREADS) {
            ThreadFacts.know((ThreadFacts) threadFacts().getDeclaredConstructor().newInstance());
        }
    }

    /** Defines a class and initializes it: none is initialized inside a program's monitor. */
    private static Class<?> made(ClassWriter writer) throws ReflectiveOperationException {
        Class<?> made = MethodHandles.privateLookupIn(Object.class, MethodHandles.lookup())
                .defineClass(writer.toByteArray());
        return Class.forName(made.getName(), true, null);
    }

    /** A class that calls what no method handle need stand for: those are made when they are used. */
    private static Class<?> threadFacts() throws ReflectiveOperationException {
        String above = Type.getInternalName(ThreadFacts.class);
        String thread = Type.getInternalName(Thread.class);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(V11, ACC_PUBLIC | ACC_FINAL | ACC_SYNTHETIC, THREADS, null, above, null);
        code(writer, "<init>", "()V", above, INVOKESPECIAL, "<init>", "()V", 0);
        String carrier = "()Ljava/lang/Thread;";
        code(writer, "carrier", carrier, thread, INVOKESTATIC, "currentCarrierThread", carrier, -1);
        code(writer, "id", "(Ljava/lang/Thread;)J", thread, INVOKEVIRTUAL, "threadId", "()J", 1);
        writer.visitEnd();
        return made(writer);
    }

    /** A method that calls another, of the object in a local variable, or of none (-1). */
    private static void code(
            ClassWriter writer, String name, String descriptor, String owner, int opcode,
            String called, String calledDescriptor, int local) {
        MethodVisitor code = writer.visitMethod(ACC_PUBLIC, name, descriptor, null, null);
        code.visitCode();
        if (local >= 0) {
            code.visitVarInsn(ALOAD, local);
        }
        code.visitMethodInsn(opcode, owner, called, calledDescriptor, false);
        code.visitInsn(Type.getReturnType(descriptor).getOpcode(IRETURN));
        code.visitMaxs(0, 0);
        code.visitEnd();
    }

    private static void pass(ClassWriter writer, Method to, String recorder) {
        String descriptor = Type.getMethodDescriptor(to);
        MethodVisitor code = writer.visitMethod(
                ACC_PUBLIC | ACC_STATIC, to.getName(), descriptor, null, null);
        code.visitCode();
        int local = 0;
        for (Type one : Type.getArgumentTypes(descriptor)) {
            code.visitVarInsn(one.getOpcode(ILOAD), local);
            local += one.getSize();
        }
        code.visitMethodInsn(INVOKESTATIC, recorder, to.getName(), descriptor, false);
        code.visitInsn(Type.getReturnType(descriptor).getOpcode(IRETURN));
        code.visitMaxs(0, 0);
        code.visitEnd();
    }
}
