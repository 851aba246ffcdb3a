package lockcross.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
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
        Object[] many = new Object[20];
        for (int place = 0; place < many.length; place++) {
            many[place] = new Object();
            buffer.acquired(Log.ACQUIRED, 0, 9, many[place], place + 1);
        }
        buffer.acquired(Log.ACQUIRED, 0, 9, many[3], 4); // nested
        buffer.released(new Object(), 0); // whose acquisition is not known
        buffer.released(many[3], 0);
        buffer.released(many[10], 0); // not the innermost
        assertEquals(4, buffer.identityOf(many[3]));
        for (int place = many.length - 1; place >= 0; place--) {
            buffer.released(many[place], 0);
        }
        List<Integer> left = new ArrayList<>();
        Slab slab = buffer.slab;
        for (int place = 0; place < slab.published(); place += 2) {
            if ((slab.words[place] & Log.KINDS) == Log.RELEASE) {
                left.add((int) slab.words[place + 1]);
            }
        }
        List<Integer> expected = new ArrayList<>(List.of(4, 11));
        for (int identity = many.length; identity > 0; identity--) {
            if (identity != 11) {
                expected.add(identity);
            }
        }
        assertEquals(expected, left);
    }

    @Test
    void whatIsNoLongerHeldIsMended() {
        Buffer buffer = new Buffer(1, 1, Thread.currentThread());
        Object held = new Object();
        synchronized (held) {
            buffer.acquired(Log.ACQUIRED, 0, 9, held, 1);
            buffer.acquired(Log.ACQUIRED, 0, 9, new Object(), 2); // its release was not told
            buffer.mend(1);
            Slab slab = buffer.slab;
            assertEquals(6, slab.published());
            assertEquals(Log.RELEASE, slab.words[4] & Log.KINDS);
            assertEquals(2, slab.words[5]);
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
