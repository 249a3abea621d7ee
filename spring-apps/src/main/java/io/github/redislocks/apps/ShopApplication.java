package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;

/**
 * An application like a user's: Spring Boot makes the locks and closes them. With the property {@code locks.work} the
 * application locks, contends, awaits, loses its connections and goes on, and locks again on other servers. It ends
 * with status 0 if all of that went well. Without the property, the application serves {@link Till} until it is
 * stopped.
 */
@SpringBootApplication
public class ShopApplication {

    private static final int THREADS = 4;
    private static final int ROUNDS = 50;

    private int sold;
    private boolean ready;

    /** Starts the application. The properties {@code locks.work} and {@code locks.others} name servers. */
    public static void main(String[] args) {
        ConfigurableApplicationContext context = SpringApplication.run(ShopApplication.class, args);
        System.out.println("Spring Boot " + SpringBootVersion.getVersion() + ", Jedis " + jedis());
        if (context.getEnvironment().containsProperty("locks.work")) {
            System.exit(SpringApplication.exit(context));
        }
        System.out.println("port " + context.getEnvironment().getProperty("local.server.port") + ".");
    }

    @Bean
    @ConditionalOnProperty("locks.work")
    CommandLineRunner work(
            RedisLocks locks, @Value("${locks.work}") String uri, @Value("${locks.others}") String others) {
        return args -> {
            lock(locks);
            contend(locks);
            await(locks);
            loseConnections(locks, uri);
            for (String other : others.split(";")) {
                try (RedisLocks there = RedisLocks.connect(other)) {
                    lock(there);
                }
                System.out.println("used " + other.replaceAll("://.*", ""));
            }
        };
    }

    private static String jedis() {
        Properties properties = new Properties();
        try (InputStream in = Connection.class.getResourceAsStream(
                "/META-INF/maven/redis.clients/jedis/pom.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version");
    }

    private static void lock(RedisLocks locks) {
        RedisReentrantLock lock = locks.reentrantLock("app:lock");
        lock.lock();
        try {
            check(lock.isHeldByCurrentThread() && lock.isLocked(), "held");
            check(lock.tryLock() && lock.getHoldCount() == 2, "entered once more");
            lock.unlock();
        } finally {
            lock.unlock();
        }
        System.out.println("locked");
    }

    private void contend(RedisLocks locks) throws Exception {
        List<Callable<Void>> sellers = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            sellers.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    locks.reentrantLock("app:stock").runWithLock(() -> {
                        sold++;
                    });
                }
                return null;
            });
        }
        inThreads(sellers);
        check(sold == THREADS * ROUNDS, "each sale counted: " + sold);
        System.out.println("contended");
    }

    private void await(RedisLocks locks) throws Exception {
        RedisReentrantLock lock = locks.reentrantLock("app:condition");
        Condition isReady = lock.newCondition("ready");
        inThreads(List.of(
                () -> {
                    lock.lock();
                    try {
                        while (!ready) {
                            check(isReady.await(20, TimeUnit.SECONDS), "signalled");
                        }
                    } finally {
                        lock.unlock();
                    }
                    return null;
                },
                () -> {
                    lock.lock();
                    try {
                        ready = true;
                        isReady.signalAll();
                    } finally {
                        lock.unlock();
                    }
                    return null;
                }));
        System.out.println("awaited");
    }

    private static void loseConnections(RedisLocks locks, String uri) throws Exception {
        RedisReentrantLock lock = locks.reentrantLock("app:cut");
        lock.lock();
        try (Jedis admin = new Jedis(uri)) {
            cut(admin);
            check(lock.isHeldByCurrentThread(), "still held");
            lock.unlock();
            cut(admin);
            lock.lock();
            cut(admin);
            Future<Boolean> waiter;
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                waiter = thread.submit(() -> {
                    locks.reentrantLock("app:cut").runWithLock(() -> {});
                    return true;
                });
                lock.unlock();
                check(waiter.get(20, TimeUnit.SECONDS), "handed on");
            } finally {
                thread.shutdownNow();
            }
        }
        System.out.println("lost its connections");
    }

    private static void cut(Jedis admin) {
        admin.sendCommand(redis.clients.jedis.Protocol.Command.CLIENT, "KILL", "TYPE", "normal");
        admin.sendCommand(redis.clients.jedis.Protocol.Command.CLIENT, "KILL", "TYPE", "pubsub");
    }

    private static void inThreads(List<Callable<Void>> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(work.size());
        try {
            for (Future<Void> done : threads.invokeAll(work)) {
                done.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("not " + what);
        }
    }
}
