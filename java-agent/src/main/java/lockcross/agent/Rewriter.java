package lockcross.agent;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import lockcross.record.Recorder;
import lockcross.record.Writer;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.MethodNode;

/** Rewrites every class that has to do with monitors, as it is loaded or, if it was before, again. */
final class Rewriter implements ClassFileTransformer {
    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> known, ProtectionDomain domain, byte[] bytes) {
        if (name == null || isOurs(name)) {
            return null;
        }
        Recorder.pause(); // what the agent itself locks is not the program's
        try {
            return rewritten(loader, name, known != null, bytes);
        } catch (Throwable error) { // a method grown too long, or a class file of a newer version
            tell(name, error.toString());
            return null;
        } finally {
            Recorder.resume();
        }
    }

    /** Rewrites a class for nothing, so that all that this takes is loaded. */
    void warmUp() throws java.io.IOException {
        String name = "java/io/PrintStream";
        try (java.io.InputStream bytes = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            if (bytes != null) {
                byte[] content = bytes.readAllBytes();
                for (boolean loaded : new boolean[] {false, true}) {
                    rewritten(ClassLoader.getSystemClassLoader(), name, loaded, content);
                }
            }
        }
    }

    /** Not to be rewritten: what recording itself goes through. */
    static boolean isOurs(String name) {
        return name.startsWith("lockcross/agent/") || name.startsWith("lockcross/record/")
                || name.equals("java/lang/Object");
    }

    private byte[] rewritten(ClassLoader loader, String name, boolean loaded, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        Scan scan = Scan.of(reader);
        if (scan.methods.isEmpty()) {
            return null;
        }
        // A synchronized method that takes its monitor by itself is another to Java's serialization.
        boolean strip = !loaded && scan.synchronizedOnes
                && (scan.ownSerialVersion || !Serial.maybe(reader, loader));
        ClassWriter writer = new ClassWriter(reader, 0);
        Methods methods = new Methods(writer, scan, name, strip, loader == null);
        reader.accept(methods, 0);
        return writer.toByteArray();
    }

    private static void tell(String name, String why) {
        Writer.leftOut(name.replace('/', '.'), why);
    }

    private final class Methods extends ClassVisitor {
        private final Scan scan;
        private final String type;
        private final boolean strip;
        private final boolean jdk;
        private int version;

        Methods(ClassVisitor next, Scan scan, String type, boolean strip, boolean jdk) {
            super(Opcodes.ASM9, next);
            this.scan = scan;
            this.type = type;
            this.strip = strip;
            this.jdk = jdk;
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String above,
                String[] interfaces) {
            this.version = version;
            super.visit(version, access, name, signature, above, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            if (!scan.methods.contains(name + descriptor)) {
                return super.visitMethod(access, name, descriptor, signature, exceptions);
            }
            return new MethodNode(
                    Opcodes.ASM9, access, name, descriptor, signature, exceptions) {
                @Override
                public void visitEnd() {
                    boolean whole = new MethodRewriter(this, type, scan.file, version, jdk)
                            .rewrite(strip);
                    if (!whole) {
                        tell(type, "method " + name + ": its object cannot be named at its end");
                    }
                    accept(cv);
                }
            };
        }
    }
}
