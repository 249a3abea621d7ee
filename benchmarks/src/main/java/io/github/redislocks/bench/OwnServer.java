package io.github.redislocks.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A redis-server 7.0 on a free port of the loopback interface, which ends when it is closed, and in any case with this
 * JVM: the shell that started it reads from this JVM, and kills it when there is no more to be read.
 */
final class OwnServer implements AutoCloseable {

    private static final long START_NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final String LEASH = "\"$@\" >/dev/null 2>&1 & read -r line; kill -9 $!; wait $! 2>/dev/null";

    private final Process leash;
    private final Path folder;
    private final int port;

    private OwnServer(Process leash, Path folder, int port) {
        this.leash = leash;
        this.folder = folder;
        this.port = port;
    }

    static OwnServer start() {
        try {
            Path folder = Files.createTempDirectory("redis-locks-benchmarks-");
            Path program = extract(folder);
            int port = freePort();
            Process leash = new ProcessBuilder(List.of(
                            "sh",
                            "-c",
                            LEASH,
                            "sh",
                            program.toString(),
                            "--port",
                            Integer.toString(port),
                            "--bind",
                            "127.0.0.1",
                            "--dir",
                            folder.toString(),
                            "--save",
                            "",
                            "--appendonly",
                            "no"))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            OwnServer server = new OwnServer(leash, folder, port);
            server.awaitReady();
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String uri() {
        return "redis://127.0.0.1:" + port;
    }

    @Override
    public void close() {
        try {
            leash.getOutputStream().close();
            leash.waitFor();
            for (String file : List.of("redis-server", "")) {
                Files.deleteIfExists(folder.resolve(file));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitReady() {
        long end = System.nanoTime() + START_NANOS;
        while (true) {
            try (Jedis jedis = new Jedis(new HostAndPort("127.0.0.1", port))) {
                jedis.ping();
                return;
            } catch (JedisException notYet) {
                if (System.nanoTime() > end) {
                    close();
                    throw new IllegalStateException("redis-server did not start on port " + port, notYet);
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            }
        }
    }

    private static Path extract(Path folder) throws IOException {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT).startsWith("mac") ? "darwin" : "linux";
        String processor = System.getProperty("os.arch").matches("aarch64|arm64") ? "arm64" : "amd64";
        String resource = "/redis-server-7.0.15-" + system + "-" + processor;
        Path program = folder.resolve("redis-server");
        try (InputStream in = OwnServer.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException(
                        "There is no " + resource + " for this machine: set REDIS_URL to a server of yours.");
            }
            Files.copy(in, program);
        }
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        return program;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
