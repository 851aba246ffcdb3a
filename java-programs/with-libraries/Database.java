import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Four threads, each with a connection: rows of their own and of all, read and written. */
public class Database {
    private static final int THREADS = 4;

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        int rounds = Integer.parseInt(arguments[1]);
        try (Connection all = DriverManager.getConnection(url);
                Statement statement = all.createStatement()) {
            statement.execute("CREATE TABLE account (id INT PRIMARY KEY, owner INT, amount INT)");
            for (int id = 0; id < 400; id++) {
                statement.execute("INSERT INTO account VALUES (" + id + "," + id % THREADS + ",0)");
            }
            Thread[] threads = new Thread[THREADS];
            for (int number = 0; number < THREADS; number++) {
                int mine = number;
                threads[number] = new Thread(() -> work(url, mine, rounds));
                threads[number].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private static void work(String url, int mine, int rounds) {
        try (Connection own = DriverManager.getConnection(url);
                PreparedStatement add =
                        own.prepareStatement("UPDATE account SET amount = amount + 1 WHERE id = ?");
                PreparedStatement sum =
                        own.prepareStatement("SELECT amount FROM account WHERE id BETWEEN ? AND ?")) {
            for (int round = 0; round < rounds; round++) {
                add.setInt(1, round % 100 * THREADS + mine);
                add.executeUpdate();
                sum.setInt(1, round % 400);
                sum.setInt(2, round % 400 + 5);
                try (ResultSet rows = sum.executeQuery()) {
                    while (rows.next()) {
                        rows.getInt(1);
                    }
                } catch (SQLException error) {
                    // Another thread's transaction was first.
                }
            }
        } catch (SQLException error) {
            System.err.println(error.getMessage());
        }
    }
}
