package lockcross.record;

/** Text as JSON has it. */
public final class Json {
    private Json() {}

    public static String escaped(String text) {
        StringBuilder done = new StringBuilder(text.length());
        for (int place = 0; place < text.length(); place++) {
            char one = text.charAt(place);
            if (one == '"' || one == '\\') {
                done.append('\\').append(one);
            } else if (one < ' ' || one > '~') {
                String digits = Integer.toHexString(one);
                done.append("\\u").append("0000", digits.length(), 4).append(digits);
            } else {
                done.append(one);
            }
        }
        return done.toString();
    }
}
