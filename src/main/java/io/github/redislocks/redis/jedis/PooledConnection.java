package io.github.redislocks.redis.jedis;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.HostAndPortMapper;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * A connection to the server, made once and never again. Each use has a deadline of its own, and any thread can cut the
 * connection at once.
 *
 * <p>Jedis has no such thing: a connection that greets is known to nobody; one that was closed opens itself anew; with
 * TLS a close waits for the other side, or for a writer that is stuck; and a timeout is that of one read, although a
 * reply may come in many pieces. So this class makes the plain socket, which looks at the deadline before each read.
 */
public final class PooledConnection implements JedisSocketFactory {

    /** Far enough away that reads have no time limit. */
    private static final long NEVER_NANOS = Long.MAX_VALUE / 2;

    private final ConnectionPool pool;
    private final HostAndPort address;
    private final JedisClientConfig config;
    private final long untilNanos;
    private final int timeoutMillis;
    private final long madeAt;
    private final int credentials;
    private volatile @Nullable Socket plain;
    private volatile boolean cut;

    @SuppressWarnings("NullAway.Init") // Nobody uses a connection before connect().
    private Connection connection;

    /** When the reads of the current use end, once the first has begun; of the thread that uses the connection. */
    private long deadline;

    private boolean armed;
    /** The number of the connection that the server tells of changes to what this one reads; 0 if none. */
    private long listener;
    /** Of the pool, while it lies there. */
    private volatile long idleSince;

    /** A connection that is still to be made, by {@link ConnectionPool#connect}, until a time. */
    PooledConnection(ConnectionPool pool, HostAndPort address, JedisClientConfig config, long untilNanos) {
        this.pool = pool;
        this.address = address;
        this.config = config;
        this.untilNanos = untilNanos;
        this.timeoutMillis = millisUntil(untilNanos);
        this.madeAt = pool.now();
        this.credentials = pool.credentials();
    }

    /**
     * Connects and greets: TCP, TLS, HELLO, AUTH, SELECT. The timeout is that of the connection to each address of the
     * host, of TLS if a HostnameVerifier waits for it, and of all that follows from its first read on: whatever names
     * the credentials before may take longer.
     */
    void connect() {
        connection = new Connection(this, config);
    }

    /** Called by Jedis. */
    @Override
    public Socket createSocket() {
        if (plain != null) {
            throw new JedisConnectionException("The connection has been closed.");
        }
        HostAndPortMapper mapper = config.getHostAndPortMapper();
        HostAndPort mapped = mapper == null ? null : mapper.getHostAndPort(address);
        HostAndPort to = mapped == null ? address : mapped;
        try {
            Socket socket = connected(to);
            return isOverTls(config) ? secured(socket, to) : socket;
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            throw new JedisConnectionException("Failed to connect to " + to, e);
        }
    }

    /** As Jedis connects: to the first address of the host that accepts, in any order. */
    private Socket connected(HostAndPort to) throws IOException {
        List<InetAddress> hosts = new ArrayList<>(List.of(InetAddress.getAllByName(to.getHost())));
        Collections.shuffle(hosts);
        IOException failure = new ConnectException("no address of " + to);
        for (InetAddress host : hosts) {
            Socket socket = pool.isOfChannels() ? SocketChannel.open().socket() : new TimedSocket();
            plain = socket;
            try {
                if (cut) {
                    throw new ConnectException("The connection has been closed");
                }
                socket.setReuseAddress(true);
                socket.setKeepAlive(true);
                socket.setTcpNoDelay(true);
                // Closed at once, whatever has not been sent.
                socket.setSoLinger(true, 0);
                socket.connect(new InetSocketAddress(host, to.getPort()), timeoutMillis);
                socket.setSoTimeout(timeoutMillis);
                return socket;
            } catch (IOException e) {
                failure = e;
                close(socket);
            }
        }
        throw failure;
    }

    static boolean isOverTls(JedisClientConfig config) {
        return config.isSsl() || config.getSslOptions() != null;
    }

    /** Lays TLS over a socket, as Jedis does. */
    @SuppressWarnings("deprecation") // Users may still configure TLS in the old way.
    private Socket secured(Socket socket, HostAndPort to) throws IOException, GeneralSecurityException {
        SslOptions options = config.getSslOptions();
        SSLSocketFactory factory =
                options != null ? options.createSslContext().getSocketFactory() : config.getSslSocketFactory();
        SSLParameters parameters = options != null ? options.getSslParameters() : config.getSslParameters();
        if (factory == null) {
            factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
        }
        if (parameters == null) {
            // Jedis before 7.5 would let any certificate that is trusted speak for any host.
            parameters = new SSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
        }
        SSLSocket tls = (SSLSocket) factory.createSocket(socket, to.getHost(), to.getPort(), true);
        tls.setSSLParameters(parameters);
        HostnameVerifier verifier = config.getHostnameVerifier();
        if (verifier != null) {
            tls.startHandshake();
            if (!verifier.verify(to.getHost(), tls.getSession())) {
                throw new SSLPeerUnverifiedException("the HostnameVerifier does not accept " + to.getHost());
            }
            armed = false;
        }
        return tls;
    }

    /**
     * A socket whose reads, also those of TLS above it, end at the deadline. What has come by then can still be read.
     */
    private final class TimedSocket extends Socket {

        private int millis;

        @Override
        public InputStream getInputStream() throws IOException {
            return new FilterInputStream(super.getInputStream()) {
                @Override
                public int read() throws IOException {
                    limit();
                    return in.read();
                }

                @Override
                public int read(byte[] to, int from, int most) throws IOException {
                    limit();
                    return in.read(to, from, most);
                }
            };
        }

        private void limit() throws IOException {
            if (!armed) {
                arm(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
            }
            int wanted = millisUntil(deadline);
            if (wanted != millis) {
                setSoTimeout(wanted);
                millis = wanted;
            }
        }
    }

    /** Whether the connection should have been made by now. */
    boolean isOverdue() {
        return System.nanoTime() - untilNanos >= 0;
    }

    /** When it was made, by the clock of its pool. */
    long madeAt() {
        return madeAt;
    }

    /** By which token it was made, as the pool tells tokens apart. */
    int credentials() {
        return credentials;
    }

    public void idleSince(long nanos) {
        idleSince = nanos;
    }

    public long idleSince() {
        return idleSince;
    }

    /** The number of the connection that the server tells of changes to what this one reads; 0 if none. */
    public long listener() {
        return listener;
    }

    /** Notes which connection the server tells. Of the thread that uses this one. */
    public void listener(long number) {
        listener = number;
    }

    /** Lets all reads from now on end at the deadline. */
    public void arm(long nanos) {
        deadline = nanos;
        armed = true;
    }

    /** Lets reads last for ever. */
    public void disarm() {
        arm(System.nanoTime() + NEVER_NANOS);
    }

    public Object ask(CommandArguments request) {
        return connection.executeCommand(request);
    }

    /** The answers to requests that are sent at once, in their order; throws the first refusal, if there is one. */
    public List<Object> askAll(CommandArguments... requests) {
        for (CommandArguments request : requests) {
            send(request);
        }
        List<Object> answers = answers(requests.length);
        for (Object answer : answers) {
            if (answer instanceof JedisDataException refusal) {
                throw refusal;
            }
        }
        return answers;
    }

    public void send(CommandArguments request) {
        connection.sendCommand(request);
    }

    /** The answers to as many requests; an error in the place of an answer is a {@code JedisDataException}. */
    public List<Object> answers(int count) {
        return connection.getMany(count);
    }

    /** Waits for what the server sends by itself. */
    public Object receive() {
        return connection.getUnflushedObject();
    }

    /** The channel by which it can be used without waiting, instead of by this; null if there is none. */
    @Nullable
    public SocketChannel channel() {
        Socket socket = plain;
        return socket == null ? null : socket.getChannel();
    }

    /** Whether the server has taken the connection, over which TLS is to be spoken. */
    public boolean wantsTls() {
        Socket socket = plain;
        return isOverTls(config) && socket != null && socket.isConnected();
    }

    /** Closes the connection at once, from any thread; a thread that connects, reads or writes then fails. */
    public void cut() {
        cut = true;
        pool.forget(this);
        Socket socket = plain;
        if (socket != null) {
            close(socket);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // The socket is of no more use, closed or not.
        }
    }

    /**
     * Rounded up, so that calls with the same timeout need the same value and the socket's is seldom changed; 0, which
     * stands for no limit, if it would not fit; 1 once the time has passed.
     */
    private static int millisUntil(long deadline) {
        long nanos = deadline - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1) - 1;
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        return millis > Integer.MAX_VALUE ? 0 : (int) millis;
    }
}
