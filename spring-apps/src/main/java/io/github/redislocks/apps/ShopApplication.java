package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.io.IOException;
import java.io.InputStream;
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
import org.springframework.context.annotation.Bean;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;

/**
 * An application as users have it: Spring makes the locks and closes them. It locks, contends, awaits, loses its
 * connections and goes on, and does the first once more over TLS. Its status is 0 if all of that went well.
 */
@SpringBootApplication
public class ShopApplication {

    private static final int THREADS = 4;
    private static final int ROUNDS = 50;

    private int sold;
    private boolean ready;

    /** Starts it; the properties {@code locks.uri} and {@code locks.tls} name the server. */
    public static void main(String[] args) {
        System.exit(SpringApplication.exit(SpringApplication.run(ShopApplication.class, args)));
    }

    @Bean
    RedisLocks locks(@Value("${locks.uri}") String uri) {
        return RedisLocks.connect(uri);
    }

    @Bean
    CommandLineRunner work(RedisLocks locks, @Value("${locks.uri}") String uri, @Value("${locks.tls:}") String tls) {
        return args -> {
            System.out.println("Spring Boot " + SpringBootVersion.getVersion() + ", Jedis " + jedis());
            lock(locks);
            contend(locks);
            await(locks);
            loseConnections(locks, uri);
            if (!tls.isEmpty()) {
                try (RedisLocks secret = RedisLocks.connect(tls)) {
                    lock(secret);
                }
                System.out.println("used TLS");
            }
        };
    }

    private static String jedis() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Connection.class.getResourceAsStream(
                "/META-INF/maven/redis.clients/jedis/pom.properties")) {
            properties.load(in);
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
                    locks.runWithLock("app:stock", () -> {
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
                    locks.runWithLock("app:cut", () -> {});
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
