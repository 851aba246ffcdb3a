package lockcross.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.objectweb.asm.ClassReader;

/** Whether objects of a class may be serialized. */
final class Serial {
    private Serial() {}

    /**
     * True also where a class above it cannot be found. Of the JDK's own classes, those with another
     * one above them: looking for that may take the very class that is being loaded.
     */
    static boolean maybe(ClassReader reader, ClassLoader loader) {
        if (loader == null || loader == ClassLoader.getPlatformClassLoader()) {
            return !"java/lang/Object".equals(reader.getSuperName())
                    || Arrays.asList(reader.getInterfaces()).contains("java/io/Serializable");
        }
        return above(reader, loader);
    }

    private static boolean above(ClassReader reader, ClassLoader loader) {
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
        try (InputStream stream = loader.getResourceAsStream(file)) {
            return stream == null || above(new ClassReader(stream), loader);
        } catch (IOException | RuntimeException error) {
            return true;
        }
    }
}
