package io.github.redislocks.redis.jedis;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.HostAndPortMapper;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * The way to the server for one connection, made once and never again, that any thread can shut at once.
 *
 * <p>Jedis has no such thing: while a connection greets, nobody knows it; one that was closed opens itself anew; and
 * with TLS a close waits for the other side, or for a writer that is stuck. So the plain socket below is kept and shut.
 */
public final class AbortableSocketFactory implements JedisSocketFactory {

    private final ConnectionPool owner;
    private final long madeAt;
    private final int credentials;
    private final int timeoutMillis;
    private final long untilNanos;
    private final JedisClientConfig config;
    private final DefaultJedisSocketFactory sockets;
    private boolean used;
    private volatile @Nullable Socket plain;
    private volatile boolean shut;
    private final boolean tls;
    private final boolean channels;
    private final HostAndPort address;

    /** Until: when to shut it if the connection is not made by then, though each step of it is in time. */
    public AbortableSocketFactory(
            HostAndPort address, JedisClientConfig wanted, int timeoutMillis, long untilNanos, ConnectionPool owner) {
        this.owner = owner;
        this.address = address;
        this.channels = owner.isOfChannels();
        this.untilNanos = untilNanos;
        this.madeAt = owner.now();
        this.credentials = owner.credentials();
        this.timeoutMillis = timeoutMillis;
        DefaultJedisClientConfig.Builder builder = DefaultJedisClientConfig.builder()
                .from(wanted)
                .connectionTimeoutMillis(timeoutMillis)
                .socketTimeoutMillis(timeoutMillis);
        tls = isOverTls(wanted);
        if (tls) {
            overTls(wanted, builder);
        }
        config = builder.build();
        sockets = new DefaultJedisSocketFactory(address, config);
    }

    static boolean isOverTls(JedisClientConfig wanted) {
        return wanted.isSsl() || wanted.getSslOptions() != null;
    }

    /** What the user wants of a connection, with the timeouts of this one. */
    public JedisClientConfig config() {
        return config;
    }

    /** When it was made, by the clock of its owner. */
    public long madeAt() {
        return madeAt;
    }

    /** By which token it was made, as its owner tells them apart. */
    public int credentials() {
        return credentials;
    }

    public long untilNanos() {
        return untilNanos;
    }

    public int timeoutMillis() {
        return timeoutMillis;
    }

    /** Whether the server has taken the connection, over which TLS is to be spoken. */
    public boolean wantsTls() {
        return tls && plain != null;
    }

    @Override
    public Socket createSocket() {
        if (used) {
            throw new JedisConnectionException("The connection has been closed.");
        }
        used = true;
        Socket socket = channels ? ofChannel() : sockets.createSocket();
        if (plain == null) {
            opened(socket);
        }
        return socket;
    }

    /** The channel below, if there is one. */
    @Nullable
    public SocketChannel channel() {
        Socket socket = plain;
        return socket == null ? null : socket.getChannel();
    }

    /** Connects as Jedis does, but to a socket that can be used without waiting later. */
    private Socket ofChannel() {
        HostAndPortMapper mapper = config.getHostAndPortMapper();
        HostAndPort mapped = mapper == null ? null : mapper.getHostAndPort(address);
        HostAndPort to = mapped == null ? address : mapped;
        try {
            List<InetAddress> hosts = new ArrayList<>(List.of(InetAddress.getAllByName(to.getHost())));
            Collections.shuffle(hosts);
            IOException failure = new ConnectException("no address of " + to);
            for (InetAddress host : hosts) {
                try {
                    return connected(new InetSocketAddress(host, to.getPort()));
                } catch (IOException e) {
                    failure = e;
                }
            }
            throw failure;
        } catch (IOException e) {
            throw new JedisConnectionException("Failed to connect to " + to, e);
        }
    }

    private Socket connected(InetSocketAddress where) throws IOException {
        SocketChannel channel = SocketChannel.open();
        boolean made = false;
        try {
            Socket socket = channel.socket();
            opened(socket);
            socket.setKeepAlive(true);
            socket.setTcpNoDelay(true);
            // Closed at once, whatever has not been sent.
            socket.setSoLinger(true, 0);
            socket.connect(where, timeoutMillis);
            socket.setSoTimeout(timeoutMillis);
            made = true;
            return socket;
        } finally {
            if (!made) {
                owner.shut(channel.socket());
            }
        }
    }

    /** From any thread and at any time: what has not been opened yet will be shut as soon as it is. */
    public void shut() {
        shut = true;
        Socket socket = plain;
        if (socket != null) {
            owner.shut(socket);
        }
    }

    private void opened(Socket socket) {
        plain = socket;
        owner.opened(socket);
        if (shut) {
            owner.shut(socket);
        }
    }

    /** As Jedis does it, but for the look at the plain socket. */
    @SuppressWarnings("deprecation") // Users may still set TLS in the old way; and SslOptions take no socket factory.
    private void overTls(JedisClientConfig wanted, DefaultJedisClientConfig.Builder builder) {
        SSLSocketFactory factory = wanted.getSslSocketFactory();
        SSLParameters parameters = wanted.getSslParameters();
        SslOptions options = wanted.getSslOptions();
        if (options != null) {
            try {
                factory = options.createSslContext().getSocketFactory();
            } catch (IOException | GeneralSecurityException e) {
                throw new JedisConnectionException("TLS cannot be set up", e);
            }
            parameters = options.getSslParameters();
        } else if (factory == null) {
            factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
        }
        if (parameters == null) {
            // Jedis before 7.5 would let any certificate that is trusted speak for any host.
            parameters = new SSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
        }
        builder.sslOptions(null).ssl(true).sslParameters(parameters).sslSocketFactory(new Layering(factory));
    }

    /** Makes the sockets of another factory, and keeps what they are laid over. Jedis uses the first method only. */
    private final class Layering extends SSLSocketFactory {

        private final SSLSocketFactory factory;

        Layering(SSLSocketFactory factory) {
            this.factory = factory;
        }

        @Override
        public Socket createSocket(Socket below, String host, int port, boolean autoClose) throws IOException {
            opened(below);
            return factory.createSocket(below, host, port, autoClose);
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return factory.getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return factory.getSupportedCipherSuites();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return factory.createSocket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
            return factory.createSocket(host, port, from, fromPort);
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return factory.createSocket(host, port);
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
            return factory.createSocket(host, port, from, fromPort);
        }
    }
}
