package io.github.redislocks.bench.contender;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Lock;

/**
 * This library from another jar, to show the cost of a change: with the same Jedis, in the same JVMs and rounds. Of the
 * jar, only {@code builder()}, {@code uri}, {@code keyPrefix}, {@code build} and {@code reentrantLock} are used.
 */
public final class EarlierVersion implements LockClient {

    /** The property of each JVM that names the jar. */
    public static final String JAR = "bench.before";

    private static final String LIBRARY = "io.github.redislocks.";
    private static final String KEY_PREFIX = "redis-locks-before";

    /** Loads the library from the other jar, and all other classes from the class path of the benchmarks. */
    private static final class OtherJar extends URLClassLoader {

        OtherJar(URL jar) {
            super(new URL[] {jar}, EarlierVersion.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(LIBRARY)) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? findClass(name) : loaded;
            }
        }

        @Override
        public URL getResource(String name) {
            URL own = findResource(name);
            return own == null ? super.getResource(name) : own;
        }
    }

    private final OtherJar loader;
    private final AutoCloseable locks;

    EarlierVersion(Setting setting) {
        this(setting, false);
    }

    /** Makes a client of a quorum. */
    static EarlierVersion ofQuorum(Setting setting) {
        return new EarlierVersion(setting, true);
    }

    private EarlierVersion(Setting setting, boolean quorum) {
        try {
            loader = new OtherJar(Path.of(System.getProperty(JAR)).toUri().toURL());
            Class<?> factory = loader.loadClass(LIBRARY + "RedisLocks");
            Object builder = factory.getMethod("builder").invoke(null);
            if (quorum) {
                builder.getClass().getMethod("quorum", String[].class).invoke(builder, (Object) setting.uris());
                builder.getClass().getMethod("restartDelay", Duration.class).invoke(builder, Duration.ZERO);
            } else {
                builder.getClass().getMethod("uri", String.class).invoke(builder, setting.uri());
            }
            builder.getClass().getMethod("keyPrefix", String.class).invoke(builder, KEY_PREFIX);
            locks = (AutoCloseable) builder.getClass().getMethod("build").invoke(builder);
        } catch (MalformedURLException | ReflectiveOperationException e) {
            throw new IllegalStateException("The jar of --before cannot be used: " + System.getProperty(JAR), e);
        }
    }

    @Override
    public Mutex mutex(String key) {
        try {
            return Mutex.of((Lock)
                    locks.getClass().getMethod("reentrantLock", String.class).invoke(locks, key));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("The jar of --before makes no lock", e);
        }
    }

    @Override
    public Mutex mutex(List<String> keys) {
        try {
            return Mutex.of((Lock)
                    locks.getClass().getMethod("multiLock", String[].class).invoke(locks, (Object)
                            keys.toArray(String[]::new)));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("The jar of --before makes no lock of several names", e);
        }
    }

    @Override
    public String redisKey(String key) {
        return KEY_PREFIX + ":{" + key + "}";
    }

    @Override
    public void close() {
        try (loader) {
            locks.close();
        } catch (IOException e) {
            throw new IllegalStateException("The jar of --before cannot be closed", e);
        } catch (Exception e) {
            throw new IllegalStateException("The client of --before does not close", e);
        }
    }
}
