package lockcross.agent;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What is known of a class loader. Loaders are told apart by what they are: their own `equals` is
 * the program's code.
 */
final class Loaders {
    private static final Map<Object, Loaders> KNOWN = new HashMap<>();
    private static final ReferenceQueue<ClassLoader> GONE = new ReferenceQueue<>();

    private final Set<String> stripped = new HashSet<>();
    private Boolean reachesBridge;

    private Loaders() {}

    private static Loaders of(ClassLoader loader) {
        for (Object gone; (gone = GONE.poll()) != null; ) {
            KNOWN.remove(gone);
        }
        Key key = new Key(loader);
        Loaders known = KNOWN.get(key);
        if (known == null) {
            known = new Loaders();
            KNOWN.put(key, known);
        }
        return known;
    }

    /** Notes that the synchronized methods of a class take their monitors by themselves. */
    static synchronized void strip(ClassLoader loader, String name) {
        of(loader).stripped.add(name);
    }

    static synchronized boolean isStripped(ClassLoader loader, String name) {
        return of(loader).stripped.contains(name);
    }

    /** Whether classes of a loader can call the bridge: asked as the JVM will ask, once. */
    static boolean reachesBridge(ClassLoader loader) {
        if (loader == null || loader == ClassLoader.getPlatformClassLoader()) {
            return true;
        }
        Boolean known;
        synchronized (Loaders.class) {
            known = of(loader).reachesBridge;
        }
        if (known == null) {
            known = asked(loader);
            synchronized (Loaders.class) {
                of(loader).reachesBridge = known;
            }
        }
        return known;
    }

    private static boolean asked(ClassLoader loader) {
        try {
            Class.forName(Bridge.NAME.replace('/', '.'), false, loader);
            return true;
        } catch (ClassNotFoundException | RuntimeException | LinkageError error) {
            return false;
        }
    }

    private static final class Key extends WeakReference<ClassLoader> {
        private final int hash;

        Key(ClassLoader loader) {
            super(loader, GONE);
            hash = System.identityHashCode(loader);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Key && hash == other.hashCode()
                    && get() == ((Key) other).get() && (hash == 0 || get() != null);
        }
    }
}
