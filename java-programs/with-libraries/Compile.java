import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;
import org.eclipse.jdt.core.compiler.batch.BatchCompiler;

/** Compiles classes that it makes up, by javac or by Eclipse's compiler. */
public class Compile {
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[1]);
        Path folder = Files.createTempDirectory("compile");
        List<String> words = new ArrayList<>(List.of("-d", folder.resolve("out").toString()));
        if (arguments[0].equals("ecj")) {
            words.addAll(List.of("-source", "11", "-target", "11", "-nowarn", "-proc:none"));
        } else {
            words.addAll(List.of("--release", "11", "-proc:none"));
        }
        for (int number = 0; number < 60; number++) {
            Path file = folder.resolve("Made" + number + ".java");
            Files.writeString(file, source(number));
            words.add(file.toString());
        }
        for (int round = 0; round < rounds; round++) {
            boolean done = arguments[0].equals("ecj")
                    ? BatchCompiler.compile(words.toArray(new String[0]),
                            new PrintWriter(System.out), new PrintWriter(System.err), null)
                    : ToolProvider.getSystemJavaCompiler()
                            .run(null, null, null, words.toArray(new String[0])) == 0;
            if (!done) {
                throw new IllegalStateException();
            }
        }
    }

    private static String source(int number) {
        StringBuilder text = new StringBuilder("import java.util.*;\npublic class Made" + number + " {\n");
        for (int method = 0; method < 40; method++) {
            text.append("  static <T extends Comparable<T>> List<T> m" + method + "(List<T> all) {\n"
                    + "    Map<T, Integer> seen = new TreeMap<>();\n"
                    + "    for (T one : all) seen.merge(one, " + method + ", Integer::sum);\n"
                    + "    List<T> kept = new ArrayList<>(seen.keySet());\n"
                    + "    kept.removeIf(one -> seen.get(one) > " + number + ");\n    return kept;\n  }\n");
        }
        return text.append("}\n").toString();
    }
}
