import java.io.ByteArrayOutputStream;

/** Writes numbers into a stream byte by byte: each byte takes the stream's monitor. */
public class ByteWriter {
    private static final int LENGTH = 65_536;

    private static ByteArrayOutputStream stream;

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            stream = new ByteArrayOutputStream(LENGTH);
            for (int number = 0; number < LENGTH / 4; number++) {
                write(round * 31 + number);
            }
            sum += stream.toByteArray()[round % LENGTH];
        }
        System.out.println(sum);
    }

    private static void write(int number) {
        stream.write(number >>> 24);
        stream.write(number >>> 16);
        stream.write(number >>> 8);
        stream.write(number);
    }
}
