import java.io.IOException;
import java.io.InputStream;
import java.util.Set;

/** Runs Inside by a class loader that hands nothing up but java.*, or classes of a list (`listed`). */
public class Isolated extends ClassLoader {
    private static final Set<String> LISTED = Set.of(
            "java.lang.Object", "java.lang.String", "java.lang.System", "java.io.PrintStream",
            "java.lang.Throwable", "java.lang.StringBuilder", "java.lang.Integer");
    private final boolean listed;

    Isolated(boolean listed) {
        this.listed = listed;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (listed ? LISTED.contains(name) : name.startsWith("java.")) {
            return super.loadClass(name, resolve);
        }
        if (!name.equals("Inside")) {
            throw new ClassNotFoundException(name);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        try (InputStream file = Isolated.class.getResourceAsStream("Inside.class")) {
            byte[] content = file.readAllBytes();
            return defineClass(name, content, 0, content.length);
        } catch (IOException error) {
            throw new ClassNotFoundException(name, error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        boolean listed = arguments.length > 0;
        new Isolated(listed).loadClass("Inside").getMethod("run").invoke(null);
    }
}
