package lockcross.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import lockcross.record.Json;
import lockcross.record.Recorder;
import lockcross.record.Writer;
import org.objectweb.asm.ClassReader;

/** Records every monitor operation of a program: `java -javaagent:JAR=output=FILE ...`. */
public final class Agent {
    private Agent() {}

    /** Called by the JVM before the program begins, which goes on where nothing can be recorded. */
    public static void premain(String text, Instrumentation instrumentation) {
        try {
            begin(Options.of(text), instrumentation);
        } catch (IOException | RuntimeException | ReflectiveOperationException error) {
            Writer.say("nothing can be recorded: " + error);
        }
    }

    private static void begin(Options options, Instrumentation instrumentation)
            throws IOException, ReflectiveOperationException {
        // What a thread is known by lies in the JDK's own fields, and the bridge in its package.
        Module ours = Recorder.class.getModule();
        instrumentation.redefineModule(
                Object.class.getModule(), Set.of(ours), Map.of(),
                Map.of("java.lang", Set.of(ours)), Set.of(), Map.of());
        Bridge.define();
        java.nio.file.Path path =
                Writer.begin(options.output, head(options), options.most, options.sample,
                        options.stacks);
        if (!path.equals(options.output)) {
            Writer.say("another process records into " + options.output + "; this one into " + path);
        }
        Rewriter rewriter = new Rewriter();
        Set<Class<?>> known = new HashSet<>();
        Class<?>[] loaded = loadedOnes(instrumentation, known);
        rewriter.warmUp(); // what rewriting needs must be loaded before it is asked to rewrite that
        instrumentation.addTransformer(rewriter, true);
        while (loaded.length > 0) {
            try {
                instrumentation.retransformClasses(loaded); // all at once: one safepoint
            } catch (java.lang.instrument.UnmodifiableClassException | LinkageError error) {
                Writer.say("classes loaded before the program are not recorded: " + error);
            }
            loaded = loadedOnes(instrumentation, known); // in the meantime
        }
        Writer.go();
    }

    /** The classes that are loaded, have to do with monitors and were not known; now they are. */
    private static Class<?>[] loadedOnes(Instrumentation instrumentation, Set<Class<?>> known) {
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> one : instrumentation.getAllLoadedClasses()) {
            String name = one.getName().replace('.', '/');
            if (one.isArray() || !known.add(one) || Rewriter.isOurs(name)
                    || !instrumentation.isModifiableClass(one)) {
                continue;
            }
            try (InputStream bytes = ClassLoader.getSystemResourceAsStream(name + ".class")) {
                if (bytes != null && !Scan.of(new ClassReader(bytes)).methods.isEmpty()) {
                    found.add(one);
                }
            } catch (IOException | RuntimeException error) {
                continue; // it is not of a file: the JVM made it
            }
        }
        return found.toArray(new Class<?>[0]);
    }

    private static String head(Options options) {
        StringBuilder text = new StringBuilder("{\"log\":\"lockcross-agent\",\"clock_mhz\":1000");
        text.append(",\"identity_bits\":31,\"sample\":").append(options.sample);
        text.append(",\"stack_interval\":").append(options.stacks);
        for (String name : new String[] {
            "java.vm.name", "java.vm.version", "java.version", "os.arch", "sun.java.command"}) {
            text.append(",\"").append(name).append("\":\"");
            text.append(Json.escaped(System.getProperty(name, ""))).append('"');
        }
        text.append(",\"java_home\":\"");
        text.append(Json.escaped(System.getProperty("java.home", ""))).append('"');
        text.append(",\"began\":").append(System.currentTimeMillis()).append('}');
        return text.toString();
    }
}
