package io.github.redislocks.redis;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.HostAndPort;

/** A server whose answer never ends, and comes byte by byte, with a pause before each. */
final class DrippingServer implements AutoCloseable {

    private final ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());

    private volatile boolean over;

    DrippingServer(Duration pause) throws IOException {
        Thread thread = new Thread(
                () -> {
                    try (Socket client = listener.accept()) {
                        OutputStream out = client.getOutputStream();
                        out.write('+');
                        while (true) {
                            LockSupport.parkNanos(pause.toNanos());
                            out.write('x');
                        }
                    } catch (IOException end) {
                        // The client has hung up, or the test is over.
                        over = true;
                    }
                },
                "dripping-server");
        thread.setDaemon(true);
        thread.start();
    }

    HostAndPort address() {
        return new HostAndPort("127.0.0.1", listener.getLocalPort());
    }

    /** Whether a client was connected and has hung up. */
    boolean hasLostItsClient() {
        return over;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
