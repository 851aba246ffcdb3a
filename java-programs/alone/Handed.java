/** What Owners hands over: each loader makes a class of its own of it. */
public class Handed extends Owners.Item {
    @Override
    public Owners.Item another() {
        return new Handed();
    }
}
