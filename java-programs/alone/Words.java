import java.util.Hashtable;

/** Makes words in a StringBuffer, letter by letter, and counts them in a Hashtable. */
public class Words {
    private static final StringBuffer LETTERS = new StringBuffer();
    private static final Hashtable<String, Integer> COUNTS = new Hashtable<>();

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        int drawn = 1;
        for (int round = 0; round < rounds; round++) {
            LETTERS.setLength(0);
            for (int letter = 0; letter < 8; letter++) {
                drawn = drawn * 1_103_515_245 + 12_345;
                LETTERS.append((char) ('a' + (drawn >>> 16) % 2));
            }
            String word = LETTERS.toString();
            Integer before = COUNTS.get(word);
            COUNTS.put(word, before == null ? 1 : before + 1);
        }
        System.out.println(COUNTS.size() + " " + COUNTS.get("aaaaaaaa"));
    }
}
