package lockcross.agent;

import java.nio.file.Path;

/** What `-javaagent:JAR=name=value;...` says. The output comes last and may have any character. */
final class Options {
    Path output;
    long most = 2_000_000_000L; // bytes
    int sample = 1; // of so many objects one
    int stacks = 1024; // of so many acquisitions one keeps its stack

    static Options of(String text) {
        Options options = new Options();
        String left = text == null ? "" : text;
        while (!left.isEmpty()) {
            int equals = left.indexOf('=');
            String name = equals < 0 ? left : left.substring(0, equals);
            left = left.substring(Math.min(equals + 1, left.length()));
            if (name.equals("output") && !left.isEmpty()) {
                options.output = Path.of(left);
                return options;
            }
            int end = left.indexOf(';');
            options.set(name, end < 0 ? left : left.substring(0, end));
            left = end < 0 ? "" : left.substring(end + 1);
        }
        throw new IllegalArgumentException("output=FILE is missing at the end");
    }

    private void set(String name, String value) {
        long number;
        try {
            number = Long.parseLong(value);
        } catch (NumberFormatException error) {
            throw new IllegalArgumentException(name + "=" + value + ": not a number");
        }
        if (name.equals("most") && number >= 10_000) {
            most = number;
        } else if (name.equals("sample") && number > 0 && number <= 1 << 20
                && Long.bitCount(number) == 1) {
            sample = (int) number;
        } else if (name.equals("stacks") && number > 0 && number <= 1 << 30) {
            stacks = (int) number;
        } else {
            throw new IllegalArgumentException(name + "=" + value + ": unknown or out of bounds");
        }
    }
}
