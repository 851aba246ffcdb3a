package lockcross.agent;

import java.lang.instrument.ClassFileTransformer;
import java.security.PrivilegedAction;
import java.security.ProtectionDomain;
import lockcross.record.Recorder;
import lockcross.record.Writer;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.MethodNode;

/**
 * Rewrites every class that has to do with monitors, as it is loaded or, if it was before, again.
 *
 * <p>Others may have a class transformed again at any time: what it is then must have the methods
 * that it was loaded with, modifiers included.
 */
final class Rewriter implements ClassFileTransformer {
    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> known, ProtectionDomain domain, byte[] bytes) {
        if (name == null || isOurs(name)) {
            return null;
        }
        // What the agent itself locks is not the program's, nor are its rights.
        return Recorder.unrecorded(new PrivilegedAction<byte[]>() {
            @Override
            public byte[] run() {
                try {
                    return rewritten(loader, name, known != null, bytes);
                } catch (Throwable error) { // a class file of a newer version, or no memory
                    tell(name, error.toString());
                    return null;
                }
            }
        });
    }

    /**
     * Rewrites a class for nothing, so that all that this takes is loaded: it could be the class that
     * is asked for otherwise.
     */
    void warmUp() throws java.io.IOException {
        String name = "java/io/PrintStream";
        try (java.io.InputStream bytes = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            if (bytes != null) {
                byte[] content = bytes.readAllBytes();
                ClassLoader loader = ClassLoader.getSystemClassLoader();
                for (Class<?> known : new Class<?>[] {null, Rewriter.class}) {
                    transform(loader, name, known, null, content);
                }
            }
        }
    }

    /** Not to be rewritten: what recording itself goes through. */
    static boolean isOurs(String name) {
        return name.startsWith("lockcross/agent/") || name.startsWith("lockcross/record/")
                || name.startsWith("java/lang/Lockcross") || name.equals("java/lang/Object");
    }

    private byte[] rewritten(ClassLoader loader, String name, boolean loaded, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        Scan scan = Scan.of(reader);
        if (scan.methods.isEmpty()) {
            return null;
        }
        if (!Loaders.reachesBridge(loader)) {
            tell(name, "its class loader has a list of its own of the JDK's classes");
            return null;
        }
        // A synchronized method that takes its monitor by itself is another to Java's serialization.
        boolean strip = loaded ? Loaders.isStripped(loader, name) : scan.synchronizedOnes
                && (scan.ownSerialVersion || !Serial.maybe(reader, loader));
        for (;;) {
            try {
                ClassWriter writer = new ClassWriter(reader, 0);
                reader.accept(new Methods(writer, scan, name, strip, loader == null), 0);
                byte[] done = writer.toByteArray();
                if (strip && !loaded) {
                    Loaders.strip(loader, name);
                }
                return done;
            } catch (MethodTooLargeException error) {
                if (!scan.methods.remove(error.getMethodName() + error.getDescriptor())) {
                    throw error;
                }
                tell(name, "method " + error.getMethodName() + " would be too long");
            }
        }
    }

    private static void tell(String name, String why) {
        Writer.leftOut(name.replace('/', '.'), why);
    }

    private static final class Methods extends ClassVisitor {
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
                    Sites.OfMethod sites =
                            new Sites.OfMethod(type, name, desc, scan.file, jdk);
                    if (!new MethodRewriter(this, type, version, sites).rewrite(strip)) {
                        tell(type, "method " + name + ": its object cannot be named at its end");
                    }
                    if (Reflection.isInvoke(type, name)) {
                        Reflection.rewrite(this);
                    }
                    if (Pauses.isOne(type, name)) {
                        Pauses.rewrite(this);
                    }
                    accept(cv);
                }
            };
        }
    }
}
