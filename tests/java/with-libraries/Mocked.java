import org.mockito.Mockito;

/** Mocks a class with synchronized methods. */
public class Mocked {
    static class Account {
        private int sum;

        synchronized int add(int more) {
            return sum += more;
        }
    }

    public static void main(String[] arguments) {
        Account real = new Account();
        for (int left = 50; left > 0; left--) {
            real.add(1);
        }
        Account mock = Mockito.mock(Account.class);
        Mockito.when(mock.add(1)).thenReturn(42);
        System.out.println(mock.add(1) + " " + real.add(1));
    }
}
