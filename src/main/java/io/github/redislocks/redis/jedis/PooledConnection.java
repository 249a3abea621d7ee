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
 * A connection to the server, which is opened once. Each use has its own deadline, and any thread can close the
 * connection at once.
 *
 * <p>A connection made by Jedis alone offers neither. No other thread can reach it before its handshake is done. It
 * opens itself again after a close. With TLS, its close waits for the other side, or for a writer that is stuck. Its
 * timeout limits one read, although a reply may come in many pieces. So this class makes the plain socket itself; the
 * socket checks the deadline before each read.
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

    /** The deadline of all reads of the current use. Used only by the thread that uses the connection. */
    private long deadline;

    private boolean armed;
    /** The id of the connection that receives the changes to the keys read on this one; 0 if none does. */
    private long listener;
    /** Since when the connection has been idle in the pool. */
    private volatile long idleSince;

    /** Makes a connection, which {@link ConnectionPool#connect} has to open until {@code untilNanos}. */
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
     * Opens the connection: TCP, TLS, HELLO, AUTH, SELECT. The timeout applies separately to each address of the host,
     * to TLS if a HostnameVerifier is set, and to all later steps together. A provider of credentials may take
     * additional time before the later steps.
     */
    void connect() {
        connection = new Connection(this, config);
    }

    /** Called by Jedis, to open the connection. */
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

    /** Tries the addresses of the host in random order, as Jedis does, until one accepts the connection. */
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

    /** Starts TLS on a socket, as Jedis does. */
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
            // Verify the host name: Jedis before 7.5 would accept any trusted certificate for any host.
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
     * A socket whose reads end at the deadline, also the reads by TLS. Bytes that have come before the deadline can be
     * read after it.
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

    /** The hash of the login token with which the connection was made; 0 without login tokens. */
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

    /** Sets that id. Called by the thread that uses this connection. */
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

    /** Sends requests together. Returns their answers in order, or throws the first error reply. */
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

    /** Reads the answers to {@code count} requests. An error reply is a {@code JedisDataException} in the list. */
    public List<Object> answers(int count) {
        return connection.getMany(count);
    }

    /** Waits for a message of the server. */
    public Object receive() {
        return connection.getUnflushedObject();
    }

    /** The channel, for use without waiting; null if this connection has none. */
    @Nullable
    public SocketChannel channel() {
        Socket socket = plain;
        return socket == null ? null : socket.getChannel();
    }

    /** Whether the server has accepted the connection and TLS is required. */
    public boolean wantsTls() {
        Socket socket = plain;
        return isOverTls(config) && socket != null && socket.isConnected();
    }

    /**
     * Closes the connection at once; any thread may call this. A thread that is connecting, reading or writing fails.
     */
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
            // Ignored: nobody uses the socket any more.
        }
    }

    /**
     * The ms until a deadline, rounded up: calls with the same timeout get the same value, so that the socket's timeout
     * seldom changes. 1 after the deadline; 0, which means no limit, if the value is too large.
     */
    private static int millisUntil(long deadline) {
        long nanos = deadline - System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1) - 1;
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        return millis > Integer.MAX_VALUE ? 0 : (int) millis;
    }
}
