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
 * A connection to the server, which is opened only once. Each use has a deadline of its own, and any thread can cut the
 * connection at once.
 *
 * <p>The connections of Jedis cannot do that: no other thread can reach a connection whose handshake is not done; a
 * closed connection opens itself again; with TLS a close waits for the other side, or for a writer that is stuck; and a
 * timeout limits one read, although a reply may come in many pieces. So this class makes the plain socket itself, which
 * checks the deadline before each read.
 */
public final class PooledConnection implements JedisSocketFactory {

    /** Stands for reads without a time limit. */
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

    /** The deadline of all reads of the current use. Used by the connection's user only. */
    private long deadline;

    private boolean armed;
    /** The id of the connection that receives the changes to the keys read on this one; 0 if none does. */
    private long listener;
    /** Set while the connection is idle in the pool. */
    private volatile long idleSince;

    /** Makes a connection that {@link ConnectionPool#connect} still has to open, by {@code untilNanos}. */
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
     * Opens the connection: TCP, TLS, HELLO, AUTH, SELECT. The timeout applies to each address of the host in turn, to
     * TLS if a HostnameVerifier waits for it, and to all later steps together, from their first read on. A provider of
     * credentials may take additional time before them.
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

    /** Connects as Jedis does: to the first address of the host that accepts, in random order. */
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
                // With a linger of 0, close() discards unsent bytes and returns at once.
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
            // Have the host name verified: Jedis before 7.5 would accept any trusted certificate for any host.
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
     * A socket whose reads, including those of TLS above it, end at the deadline. Bytes that have come by then can
     * still be read.
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

    /** Whether the time to connect is over. */
    boolean isOverdue() {
        return System.nanoTime() - untilNanos >= 0;
    }

    /** When the connection was made, by the clock of its pool. */
    long madeAt() {
        return madeAt;
    }

    /** The hash of the login token with which the connection was made. */
    int credentials() {
        return credentials;
    }

    public void idleSince(long nanos) {
        idleSince = nanos;
    }

    public long idleSince() {
        return idleSince;
    }

    /** The id of the connection that receives the changes to the keys read on this one; 0 if none does. */
    public long listener() {
        return listener;
    }

    /** Notes which connection receives the changes. Called by the connection's user. */
    public void listener(long number) {
        listener = number;
    }

    /** Sets the deadline of all reads from now on. */
    public void arm(long nanos) {
        deadline = nanos;
        armed = true;
    }

    /** Removes the time limit of reads. */
    public void disarm() {
        arm(System.nanoTime() + NEVER_NANOS);
    }

    public Object ask(CommandArguments request) {
        return connection.executeCommand(request);
    }

    /** Sends requests together and returns their answers in order; throws the first refusal, if there is one. */
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

    /** The answers to this number of requests. An error reply is a {@code JedisDataException} in place of an answer. */
    public List<Object> answers(int count) {
        return connection.getMany(count);
    }

    /** Waits for a message of the server. */
    public Object receive() {
        return connection.getUnflushedObject();
    }

    /** The channel, for use without waiting; null if there is none. */
    @Nullable
    public SocketChannel channel() {
        Socket socket = plain;
        return socket == null ? null : socket.getChannel();
    }

    /** Whether the server has accepted the connection, and TLS is required. */
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
            // Ignored: nobody uses the socket any more, closed or not.
        }
    }

    /**
     * The ms until a deadline, rounded up, so that calls with the same timeout use the same value and the socket's
     * timeout seldom changes; 0, which means no limit, if the value would not fit; 1 once the time has passed.
     */
    private static int millisUntil(long deadline) {
        long nanos = deadline - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1) - 1;
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        return millis > Integer.MAX_VALUE ? 0 : (int) millis;
    }
}
