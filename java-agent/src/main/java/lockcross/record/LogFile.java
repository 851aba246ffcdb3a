package lockcross.record;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The log as a file: a header, then blocks, each of which is written whole or is the last one.
 *
 * <p>Layout: docs/interfaces.md, section 6.
 */
final class LogFile {
    static final int TEXT = tag("TEXT");
    static final int EVENTS = tag("EVTS");
    static final int MARK = tag("MARK");
    static final int END = tag("DONE");

    private static final int VERSION = 2;
    private static final int HEADER = 16;

    final Path path;
    private final FileChannel channel;
    private final ByteBuffer bytes =
            ByteBuffer.allocateDirect(1 << 18).order(ByteOrder.LITTLE_ENDIAN);
    private long size;

    /** A file of this name, or, where there is one already, of one that ends with the process. */
    LogFile(Path wanted) throws IOException {
        Path path = wanted;
        FileChannel channel;
        try {
            channel = create(path);
        } catch (FileAlreadyExistsException another) {
            path = Path.of(wanted + "." + ProcessHandle.current().pid());
            channel = create(path);
        }
        this.path = path;
        this.channel = channel;
        bytes.put("LCEVENTS".getBytes(StandardCharsets.US_ASCII)).putInt(VERSION).putInt(0);
        write();
    }

    long size() {
        return size;
    }

    void text(int tag, String text) throws IOException {
        byte[] content = text.getBytes(StandardCharsets.UTF_8);
        head(tag, 0, content.length);
        for (int from = 0; from < content.length; ) {
            int count = Math.min(content.length - from, bytes.remaining());
            bytes.put(content, from, count);
            from += count;
            drain();
        }
        written(HEADER + content.length);
    }

    void mark(long time) throws IOException {
        head(MARK, 0, Long.BYTES);
        bytes.putLong(time);
        write();
    }

    void events(int buffer, long[] words, int from, int to) throws IOException {
        head(EVENTS, buffer, (long) (to - from) * Long.BYTES);
        bytes.asLongBuffer().put(words, from, to - from);
        bytes.position(bytes.position() + (to - from) * Long.BYTES);
        write();
    }

    /** Takes away what was written of a block that could not be written whole. */
    void repair() throws IOException {
        bytes.clear();
        channel.truncate(size);
        channel.position(size);
    }

    void close() throws IOException {
        channel.close();
    }

    private static FileChannel create(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    private static int tag(String name) {
        byte[] letters = name.getBytes(StandardCharsets.US_ASCII);
        return letters[0] | letters[1] << 8 | letters[2] << 16 | letters[3] << 24;
    }

    private void head(int tag, int buffer, long length) {
        bytes.putInt(tag).putInt(buffer).putLong(length);
    }

    private void write() throws IOException {
        int count = bytes.position();
        drain();
        written(count);
    }

    private void written(long count) {
        size += count;
    }

    private void drain() throws IOException {
        bytes.flip();
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
        bytes.clear();
    }
}
