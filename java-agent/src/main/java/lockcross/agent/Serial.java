package lockcross.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.objectweb.asm.ClassReader;

/** Whether objects of a class may be serialized. */
final class Serial {
    private Serial() {}

    /** True also where a class above it cannot be found. */
    static boolean maybe(ClassReader reader, ClassLoader loader) {
        if (Arrays.asList(reader.getInterfaces()).contains("java/io/Serializable")) {
            return true;
        }
        for (String name : reader.getInterfaces()) {
            if (maybe(name, loader)) {
                return true;
            }
        }
        return reader.getSuperName() != null && maybe(reader.getSuperName(), loader);
    }

    private static boolean maybe(String name, ClassLoader loader) {
        if (name.equals("java/lang/Object")) {
            return false;
        }
        String file = name + ".class";
        try (InputStream stream = loader == null
                ? ClassLoader.getSystemResourceAsStream(file) : loader.getResourceAsStream(file)) {
            return stream == null || maybe(new ClassReader(stream), loader);
        } catch (IOException | RuntimeException error) {
            return true;
        }
    }
}
