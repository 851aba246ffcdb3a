import java.security.Permission;
import java.security.PermissionCollection;
import java.security.Permissions;
import java.security.Policy;
import java.security.ProtectionDomain;

/** Sets a security manager while it runs, by a policy that allows next to nothing. */
public class Restricted {
    private static int count;

    static synchronized void increment() {
        count++;
    }

    /** Loaded under that policy. */
    static class Late {
        static synchronized void increment() {
            count++;
        }
    }

    @SuppressWarnings({"removal", "deprecation"})
    public static void main(String[] arguments) throws Exception {
        Policy.setPolicy(new Policy() {
            @Override
            public PermissionCollection getPermissions(ProtectionDomain domain) {
                return new Permissions();
            }

            @Override
            public boolean implies(ProtectionDomain domain, Permission permission) {
                return permission.getName().startsWith("exitVM");
            }
        });
        System.setSecurityManager(new SecurityManager());
        Thread[] threads = new Thread[3];
        for (int number = 0; number < threads.length; number++) {
            threads[number] = new Thread(() -> {
                for (int left = 1000; left > 0; left--) {
                    increment();
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Late.increment();
        System.out.println(count);
    }
}
