package io.github.redislocks.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.JedisServers;
import io.github.redislocks.LockUnavailableException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisLocksBuilder;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.RedisRequestException;
import io.github.redislocks.fixture.ClusterServers;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.fixture.SentinelServers;
import io.github.redislocks.fixture.TlsServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/**
 * Tests the messages for mistakes of users and of server configurations: each message names its subject, what is wrong,
 * and what to do. Each is provoked, and printed, to be read.
 */
@Timeout(60)
@Tag("server")
class MessageTest {

    @TempDir
    static Path folder;

    private static void says(ThrowingCallable mistake, String about, String wrong, String remedy) {
        Throwable thrown = catchThrowable(mistake);
        assertThat(thrown).as("an exception").isNotNull();
        String message = String.valueOf(thrown.getMessage());
        System.out.println("MESSAGE " + message);
        assertThat(message).contains(about).contains(wrong).contains(remedy).endsWith(".");
        assertThat(message).as("nothing twice").doesNotContainPattern("No connection.*No connection");
    }

    private static void connectSays(String uri, String about, String wrong, String remedy) {
        says(() -> RedisLocks.connect(uri).close(), about, wrong, remedy);
    }

    private static RedisLocksBuilder impatient(String uri) {
        return RedisLocks.builder()
                .uri(uri)
                .commandTimeout(Duration.ofMillis(500))
                .retryFor(Duration.ZERO);
    }

    @Test
    void sentinel_atRedis() {
        try (SentinelServers servers = SentinelServers.start()) {
            String address = servers.sentinels().get(0).address().toString();
            connectSays("redis://" + address, address, "is a Sentinel", "write redis-sentinel://" + address + "/locks");
        }
    }

    @Test
    void nodeOfACluster_atRedis() {
        String address = ClusterServers.shared().servers().get(0).address().toString();
        connectSays("redis://" + address, address, "is one node of a cluster", "redis-cluster://" + address);
    }

    @Test
    void nodeOfAClusterThatIsDown_atRedis() {
        try (RedisServer server = RedisServer.start("--cluster-enabled", "yes")) {
            String address = server.address().toString();
            connectSays(server.uri(), address, "does not serve all slots", "connect by redis-cluster://");
        }
    }

    @Test
    void plainServer_atRedisSentinel() {
        try (RedisServer server = RedisServer.start()) {
            String address = server.address().toString();
            connectSays(
                    "redis-sentinel://" + address + "/locks", address, "is no Sentinel", "write redis://" + address);
        }
    }

    @Test
    void plainServer_atRedisSentinel_isNotSaidToBeTooOld() {
        try (RedisServer server = RedisServer.start()) {
            String uri = "redis-sentinel://" + server.address() + "/locks";
            connectSays(uri, server.address().toString(), "is no Sentinel", "Name the Sentinels");
            assertThat(catchThrowable(() -> RedisLocks.connect(uri))).hasMessageNotContaining("6.2");
        }
    }

    @Test
    void connect_toADatabaseThatDoesNotExist_namesTheDatabase() {
        try (RedisServer server = RedisServer.start()) {
            connectSays(server.uri() + "/99", server.address().toString(), "DB index", "no database of that number");
        }
    }

    @Test
    void plainServer_atRedisCluster() {
        try (RedisServer server = RedisServer.start()) {
            String address = server.address().toString();
            connectSays("redis-cluster://" + address, address, "is no node of a cluster", "write redis://" + address);
        }
    }

    @Test
    void tls_toAPlainPort() {
        try (RedisServer server = RedisServer.start()) {
            connectSays(
                    server.uri().replace("redis:", "rediss:"),
                    server.address().toString(),
                    "accepted no connection over TLS",
                    "write redis:// in place of rediss://");
        }
    }

    @Test
    void tls_missing_orOfAnUnknownAuthority_orForAnotherHost() {
        try (TlsServer tls = TlsServer.start(folder)) {
            int port = tls.address().getPort();
            connectSays("redis://localhost:" + port, "localhost:" + port, "takes TLS", "write rediss://");
            // A machine that stalls for a second must not be taken for a server that takes no TLS.
            connectSays(
                    "rediss://localhost:" + port + "?commandTimeout=20s",
                    "localhost:" + port,
                    "an authority that this JVM does not trust",
                    "javax.net.ssl.trustStore");
            says(
                    () -> RedisLocks.builder()
                            .servers(JedisServers.single(new HostAndPort("127.0.0.1", port), tls.trusting()))
                            .commandTimeout(Duration.ofSeconds(20))
                            .build()
                            .close(),
                    "127.0.0.1:" + port,
                    "certificate is for another host",
                    "connect by a name that stands in it");
        }
    }

    /** A server of web pages, that says so to whatever it hears. */
    private static void serveOnce(ServerSocket web) {
        try (Socket client = web.accept()) {
            client.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            client.getOutputStream().flush();
            boolean unused = client.getInputStream().read() < 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void connect_toAServerThatIsNoRedis_saysSo() throws IOException {
        try (ServerSocket web = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> served = OwnThread.run(() -> serveOnce(web));
            String address = "127.0.0.1:" + web.getLocalPort();
            connectSays("redis://" + address, address, "not how Redis answers", "check the host and the port");
            served.join();
        }
    }

    @Test
    void connect_toNobodyOrWithAWrongPassword_saysWhatToCheck() {
        try (RedisServer server = RedisServer.start()) {
            server.kill();
            connectSays(
                    server.uri(), server.address().toString(), "refused", "Check the host and the port, and that the");
            server.restart();
            connectSays(
                    server.uri().replace("//", "//nobody:wrong@"),
                    server.address().toString(),
                    "WRONGPASS",
                    "Check the user and the password");
        }
        connectSays("redis://no.such.host.invalid", "no.such.host.invalid", "host is unknown", "Check the host's name");
    }

    @Test
    void lock_whoseKeyAnotherProgramUses_namesTheKey() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client();
                RedisLocks locks = impatient(server.uri()).build()) {
            jedis.set("redis-locks:{job}", "something else");
            says(
                    () -> locks.reentrantLock("job").lock(),
                    "The lock \"job\" was not acquired",
                    "something else under the key redis-locks:{job}",
                    "choose another keyPrefix");
            jedis.del("redis-locks:{job}");
            jedis.set("redis-locks:{job}:fence", "something else");
            says(
                    () -> locks.reentrantLock("job").lock(),
                    "The lock \"job\" was not acquired",
                    "or one that begins with it and a colon",
                    "choose another keyPrefix");
            jedis.del("redis-locks:{job}:fence");
            RedisLocks other = impatient(server.uri()).build();
            other.reentrantLock("job").lock();
            jedis.set("redis-locks:{job}:queue", "something else");
            says(
                    () -> locks.reentrantLock("job").tryLock(5, TimeUnit.SECONDS),
                    "The lock \"job\" was not acquired",
                    "or one that begins with it and a colon",
                    "TYPE");
            other.close();
        }
    }

    @Test
    void lock_onAFullServerOrAReplicaOrWithoutARight_saysWhich() {
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.client();
                RedisLocks locks = impatient(server.uri()).build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            jedis.configSet("maxmemory", "1");
            says(lock::lock, "\"job\" was not acquired", "OOM", "raise maxmemory");
            says(lock::tryLock, "\"job\" was not acquired", "OOM", "raise maxmemory");
            jedis.configSet("maxmemory", "0");
            jedis.replicaof("127.0.0.1", 1);
            says(lock::lock, "\"job\" was not acquired", "READONLY", "check where the address leads");
            jedis.replicaofNoOne();
            jedis.aclSetUser("default", "-hset", "-hmget");
            says(lock::lock, "\"job\" was not acquired", "can't run this command", "docs/redis.md lists");
        }
    }

    @Test
    void tryLock_onAServerThatRunsAnEndlessScript_saysBusy() throws Exception {
        try (RedisServer server = RedisServer.start();
                Jedis admin = server.client();
                Jedis busy = server.client();
                RedisLocks locks = impatient(server.uri()).build()) {
            admin.configSet("lua-time-limit", "1");
            CompletableFuture<Object> endless =
                    OwnThread.call(() -> catchThrowable(() -> busy.eval("while true do end")));
            RedisReentrantLock lock = locks.reentrantLock("job");
            await().until(() -> String.valueOf(catchThrowable(lock::tryLock)).contains("BUSY"));
            says(lock::tryLock, "\"job\" was not acquired", "BUSY", "SCRIPT KILL");
            admin.sendCommand(Command.SCRIPT, "KILL");
            endless.get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void queries_whileRedisIsAway_sayThatNothingHasChanged() {
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = impatient(server.uri()).build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            server.kill();
            says(lock::isLocked, "\"job\" could not be looked at", "Nothing has changed", "that the server runs");
            says(() -> locks.inspect("job"), "\"job\" could not be looked at", "Nothing has changed", "Check the host");
            says(lock::forceUnlock, "\"job\" could not be looked at", "Nothing has changed", "Check the host");
        }
    }

    @Test
    void waiter_whoseClientIsClosed_hasItsOwnStack() throws Exception {
        try (RedisServer server = RedisServer.start();
                RedisLocks other = RedisLocks.connect(server.uri())) {
            other.reentrantLock("job").lock();
            RedisLocks locks = RedisLocks.connect(server.uri());
            RedisReentrantLock lock = locks.reentrantLock("job");
            CompletableFuture<Throwable> waiter = new CompletableFuture<>();
            Thread waiting = new Thread(() -> waiter.complete(catchThrowable(() -> waitsHere(lock))));
            waiting.start();
            await().until(() -> lock.hasQueuedThread(waiting));
            locks.close();
            Throwable thrown = waiter.get(20, TimeUnit.SECONDS);
            says(
                    () -> {
                        throw thrown;
                    },
                    "This RedisLocks",
                    "is closed",
                    "make a new one");
            assertThat(thrown.getStackTrace())
                    .extracting(StackTraceElement::getMethodName)
                    .contains("waitsHere")
                    .doesNotContain("close");
        }
    }

    private static void waitsHere(RedisReentrantLock lock) {
        lock.lock();
    }

    @Test
    void timedTry_behindOneThatHearsNothing_knowsWhy() throws InterruptedException, ExecutionException {
        try (RedisServer server = RedisServer.start();
                RedisLocks locks = RedisLocks.builder()
                        .uri(server.uri())
                        .commandTimeout(Duration.ofMillis(300))
                        .connectWithin(Duration.ofSeconds(10))
                        .build()) {
            RedisReentrantLock lock = locks.reentrantLock("job");
            server.kill();
            FutureTask<Throwable> failing = new FutureTask<>(() -> catchThrowable(lock::lock));
            Thread first = new Thread(failing);
            first.start();
            await().until(() -> lock.hasQueuedThread(first));
            says(
                    () -> lock.tryLock(1, TimeUnit.SECONDS),
                    "\"job\" was not acquired",
                    server.address().toString(),
                    "Check the host and the port");
            Throwable thrown = catchThrowable(() -> lock.tryLock(100, TimeUnit.MILLISECONDS));
            assertThat(thrown)
                    .hasCauseInstanceOf(RedisRequestException.class)
                    .isInstanceOfSatisfying(LockUnavailableException.class, unavailable -> {
                        assertThat(unavailable.reason()).isEqualTo(LockUnavailableException.Reason.UNANSWERED);
                        assertThat(unavailable.lockName()).isEqualTo("job");
                        assertThat(unavailable.server())
                                .isEqualTo(server.address().toString());
                    });
            server.restart();
            assertThat(failing.get()).isNull();
        }
    }

    @Test
    void build_withABadSetting_namesTheValueAndTheRule() {
        RedisLocksBuilder builder = RedisLocks.builder();
        says(
                () -> builder.lease(Duration.ofMillis(1)).build(),
                "The lease is 1 ms",
                "between 100 ms and 24 h",
                "The default is 30 s");
        says(
                () -> RedisLocks.builder()
                        .commandTimeout(Duration.ofSeconds(Long.MAX_VALUE))
                        .build(),
                "The command timeout is 9223372036854775807 s",
                "between 1 ms and 60 s",
                "The default is 1 s");
        says(
                () -> RedisLocks.builder()
                        .lease(Duration.ofSeconds(3))
                        .commandTimeout(Duration.ofSeconds(5))
                        .build(),
                "The command timeout is 5 s, and the lease 3 s",
                "an answer that comes after the lease is worth nothing",
                "Name a command timeout of 3 s or less, or a longer lease");
        connectSays(
                "redis://127.0.0.1:port",
                "\"redis://127.0.0.1:***\"",
                "has a port that is no number",
                "Write redis://host:port");
        connectSays("redis://my host", "my host", "a character that host names cannot have", "Write redis://host:port");
    }
}
