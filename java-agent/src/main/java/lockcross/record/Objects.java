package lockcross.record;

/** About how many different objects there were, by linear counting: off by 1 % or less up to 20 M. */
final class Objects {
    private static final int BITS = 1 << 23;
    private final long[] seen = new long[BITS / Long.SIZE];

    void add(int identity) {
        int place = (identity * 0x9E3779B1) >>> 9;
        seen[place >>> 6] |= 1L << place;
    }

    double count() {
        int set = 0;
        for (long word : seen) {
            set += Long.bitCount(word);
        }
        return -(double) BITS * Math.log1p(-(double) Math.min(set, BITS - 1) / BITS);
    }
}
