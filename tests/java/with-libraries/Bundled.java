import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/** An OSGi bundle, and what runs it: the bundle's file, a folder for the framework. */
public class Bundled implements BundleActivator {
    private int count;

    private synchronized void increment() {
        count++;
    }

    @Override
    public void start(BundleContext context) {
        for (int left = 50; left > 0; left--) {
            synchronized (context) {
                count++;
            }
            increment();
        }
        System.out.println(count);
    }

    @Override
    public void stop(BundleContext context) {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("org.osgi.framework.storage", arguments[1]);
        FrameworkFactory factory = ServiceLoader.load(FrameworkFactory.class).iterator().next();
        Framework framework = factory.newFramework(settings);
        framework.start();
        Bundle bundle = framework.getBundleContext().installBundle("file:" + arguments[0]);
        bundle.start();
        framework.stop();
        framework.waitForStop(10_000);
        System.exit(0);
    }
}
