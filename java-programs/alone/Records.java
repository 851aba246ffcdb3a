import java.util.Vector;

/** Records in vectors that are sorted and searched, one element at a time, as _209_db does. */
public class Records {
    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        Vector<Vector<String>> all = new Vector<>();
        for (int row = 0; row < 500; row++) {
            Vector<String> fields = new Vector<>();
            for (int field = 0; field < 8; field++) {
                fields.addElement("f" + (row * 7919 + field * 31) % 5000);
            }
            all.addElement(fields);
        }
        long found = 0;
        for (int round = 0; round < rounds; round++) {
            int by = round % 8;
            for (int gap = all.size() / 2; gap > 0; gap /= 2) {
                for (int right = gap; right < all.size(); right++) {
                    for (int left = right - gap; left >= 0; left -= gap) {
                        Vector<String> one = all.elementAt(left);
                        Vector<String> other = all.elementAt(left + gap);
                        if (one.elementAt(by).compareTo(other.elementAt(by)) <= 0) {
                            break;
                        }
                        all.setElementAt(other, left);
                        all.setElementAt(one, left + gap);
                    }
                }
            }
            for (int row = 0; row < all.size(); row++) {
                found += all.elementAt(row).elementAt(by).length();
            }
        }
        System.out.println(found);
    }
}
