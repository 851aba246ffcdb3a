package lockcross.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

class WordsTest {
    @Test
    void aWordHasTheTimeAboveTheKind() {
        assertEquals(0x0000_0000_0005_0013L, Log.word(5, Log.RELEASE | Log.BEGUN));
        assertEquals(-1L << 16 | 2, Log.word((1L << 48) - 1, Log.ACQUIRED));
    }

    @Test
    void textIsAsciiAndClosesNoString() {
        assertEquals("a\\\"b\\\\c\\u000a\\u00fc\\u20ac", Json.escaped("a\"b\\c\n\u00fc\u20ac"));
    }

    @Test
    void whatIsHeldIsLeftInAnyOrder() {
        Buffer buffer = new Buffer(1, 1, Thread.currentThread());
        Object[] many = new Object[40];
        for (int place = 0; place < many.length; place++) {
            many[place] = new Object();
            buffer.enter(many[place], place + 1);
        }
        buffer.enter(many[3], 4); // nested
        assertEquals(0, buffer.leave(new Object()));
        assertEquals(4, buffer.leave(many[3]));
        assertEquals(11, buffer.leave(many[10])); // not the innermost
        assertEquals(4, buffer.identityOf(many[3]));
        for (int place = many.length - 1; place >= 0; place--) {
            assertEquals(place == 10 ? 0 : place + 1, buffer.leave(many[place]));
        }
    }

    @Test
    void recordsOfOneBufferHaveEverLaterTimes() {
        Recorder.start = 0;
        Buffer buffer = new Buffer(1, 1, Thread.currentThread());
        for (int time : new int[] {7, 7, 3, 20}) {
            buffer.add(Log.RELEASE, time, 9, -1);
        }
        Slab slab = buffer.slab;
        assertEquals(8, slab.published());
        long[] times = {7, 8, 9, 20};
        for (int place = 0; place < times.length; place++) {
            assertEquals(times[place], slab.words[2 * place] >>> 16);
            assertEquals(9L << 32 | 0xFFFFFFFFL, slab.words[2 * place + 1]);
        }
        assertSame(buffer, slab.owner);
    }

    @Test
    void differentOnesAreCountedToAPercent() {
        Objects objects = new Objects();
        java.util.Random random = new java.util.Random(1);
        int[] some = random.ints(300_000, 1, Integer.MAX_VALUE).toArray();
        for (int twice = 0; twice < 2; twice++) {
            for (int one : some) {
                objects.add(one);
            }
        }
        assertEquals(300_000, objects.count(), 3_000);
    }

    @Test
    void oneOfSoManyIsInTheSample() {
        Recorder.sampleMask = 15;
        int kept = 0;
        for (int identity = 1; identity <= 160_000; identity++) {
            kept += Recorder.sampled(identity) == 0 ? 0 : 1;
        }
        Recorder.sampleMask = 0;
        assertEquals(10_000, kept, 500);
    }
}
