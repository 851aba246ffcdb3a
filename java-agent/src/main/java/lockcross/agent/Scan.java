package lockcross.agent;

import java.util.HashSet;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Which methods of a class are told of: they have to do with monitors, or pause a thread. */
final class Scan extends ClassVisitor {
    final Set<String> methods = new HashSet<>(); // name and type
    boolean synchronizedOnes;
    boolean ownSerialVersion; // what is computed from the methods otherwise
    String file;

    private String type;

    private Scan() {
        super(Opcodes.ASM9);
    }

    static Scan of(ClassReader reader) {
        Scan scan = new Scan();
        reader.accept(scan, ClassReader.SKIP_FRAMES);
        return scan;
    }

    @Override
    public void visit(
            int version, int access, String name, String signature, String above,
            String[] interfaces) {
        type = name;
    }

    @Override
    public void visitSource(String source, String debug) {
        file = source;
    }

    @Override
    public org.objectweb.asm.FieldVisitor visitField(
            int access, String name, String descriptor, String signature, Object value) {
        ownSerialVersion |= name.equals("serialVersionUID");
        return null;
    }

    @Override
    public MethodVisitor visitMethod(
            int access, String name, String descriptor, String signature, String[] exceptions) {
        String method = name + descriptor;
        if ((access & Opcodes.ACC_SYNCHRONIZED) != 0) {
            if ((access & Opcodes.ACC_NATIVE) == 0) {
                synchronizedOnes = true;
                methods.add(method);
            }
            return null;
        }
        if (Reflection.isInvoke(type, name) || Pauses.isOne(type, name)) {
            methods.add(method);
        }
        return new MethodVisitor(Opcodes.ASM9) {
            @Override
            public void visitInsn(int opcode) {
                if (opcode == Opcodes.MONITORENTER) {
                    methods.add(method);
                }
            }

            @Override
            public void visitMethodInsn(
                    int opcode, String owner, String called, String type, boolean isInterface) {
                if ((opcode == Opcodes.INVOKEVIRTUAL || opcode == Opcodes.INVOKESPECIAL)
                        && Notification.of(called, type) != null) {
                    methods.add(method);
                }
            }

            @Override
            public void visitInvokeDynamicInsn(
                    String called, String type, Handle maker, Object... arguments) {
                if (Notification.of(maker, arguments) != null) {
                    methods.add(method);
                }
            }
        };
    }
}
