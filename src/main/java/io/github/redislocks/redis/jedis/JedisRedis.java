package io.github.redislocks.redis.jedis;

import io.github.redislocks.concurrent.IoThreads;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Acks;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.ErrorReply;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.SingleServer;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * One Redis server, through Jedis.
 *
 * <p>There are three pools, so that the work of one does not delay the others: one for calls; one for batches and
 * messages, with a single connection, the <i>lane</i>; and one for subscriptions, which keep their connections.
 * {@link TimedRequest} describes how a call meets its deadline.
 *
 * <p>After a restart of the server, every idle connection is stale. A call on a stale connection fails and is sent
 * again on a fresh one, and its reply says so ({@link Reply#resent}). A call that ran out of time is not sent again. A
 * connection that was idle for long is tested before use: a firewall may have forgotten it, and would drop the call
 * without an error.
 */
public final class JedisRedis implements SingleServer {

    private final Endpoint endpoint;
    private final ConnectionPool pool;
    private final ConnectionPool lane;
    private final ConnectionPool subscriptions;
    private final AtomicBoolean laneWanted = new AtomicBoolean();
    private final Tracking tracking;
    /** Sends submitted calls; null if calls cannot be submitted. */
    private final @Nullable QuickWay quick;

    /**
     * Makes the port, without connecting.
     *
     * @param config user, password, database, TLS, protocol and client name; its timeouts are not used, since each call
     *     has a timeout
     * @param maxConnections how many calls of {@link #run} may be under way at the same time
     */
    public JedisRedis(HostAndPort address, JedisClientConfig config, int maxConnections) {
        this(address, config, maxConnections, Threads.DAEMONS);
    }

    /** Makes the port; uses the threads of a client. */
    public JedisRedis(HostAndPort address, JedisClientConfig config, int maxConnections, Threads threads) {
        this(address, config, maxConnections, threads, System::nanoTime, null, false);
    }

    /** Makes the port with a clock for the idle times of connections. */
    public JedisRedis(HostAndPort address, JedisClientConfig config, int maxConnections, LongSupplier nanoTime) {
        this(address, config, maxConnections, Threads.DAEMONS, nanoTime, null, false);
    }

    /**
     * Makes a port for callers that are threads for this server alone. Each caller has a connection for all its
     * requests, also for batches, so that callers do not wait for each other. Each caller connects by itself, so no
     * other thread is needed. The reader reads the answers to {@link #submit submitted} calls.
     *
     * @param callers the number of those threads
     */
    public static JedisRedis ofReader(HostAndPort address, JedisClientConfig config, int callers, QuickReader reader) {
        return new JedisRedis(address, config, callers, reader.threads(), reader.nanoTime(), reader, true);
    }

    private JedisRedis(
            HostAndPort address,
            JedisClientConfig config,
            int maxConnections,
            Threads threads,
            LongSupplier nanoTime,
            @Nullable QuickReader reader,
            boolean callersConnect) {
        if (maxConnections < 1) {
            throw new IllegalArgumentException("maxConnections is " + maxConnections + ", and must be 1 or more");
        }
        endpoint = new Endpoint(address.toString(), new IoThreads(threads, address.toString()), callersConnect);
        pool = new ConnectionPool(address, config, maxConnections, nanoTime);
        pool.checkNames();
        lane = callersConnect ? pool : new ConnectionPool(address, config, 1, nanoTime);
        subscriptions = new ConnectionPool(address, config, 1, nanoTime);
        tracking = new Tracking(address.toString());
        quick = reader == null
                ? null
                : new QuickWay(endpoint, QuickWay.pool(address, config, reader), reader, this::heed);
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        try {
            return new Evaluation(call, timeoutNanos).perform(true);
        } catch (RedisException e) {
            heed(e);
            throw e;
        }
    }

    @Override
    public Outcome runAsking(Call call, long timeoutNanos) {
        return heeded(new BatchRequest(endpoint, pool, timeoutNanos, List.of(call), null).outcomes())
                .get(0);
    }

    @Override
    public List<Outcome> runAll(List<Call> calls, long timeoutNanos) {
        return calls.isEmpty()
                ? List.of()
                : heeded(new BatchRequest(endpoint, lane, timeoutNanos, calls, tracking).outcomes());
    }

    @Override
    public boolean submit(
            String server, List<Call> calls, long timeoutNanos, Consumer<@Nullable List<Outcome>> receiver) {
        QuickWay way = quick;
        return way != null && way.submit(server, calls, timeoutNanos, receiver);
    }

    @Override
    public void connectQuickly(long timeoutNanos) {
        QuickWay way = quick;
        if (way != null) {
            way.connect(timeoutNanos);
        }
    }

    @Override
    public List<Outcome> runAllAsking(List<Call> calls, long timeoutNanos) {
        return heeded(new BatchRequest(endpoint, lane, timeoutNanos, calls, null).outcomes());
    }

    private List<Outcome> heeded(List<Outcome> outcomes) {
        for (Outcome outcome : outcomes) {
            heed(outcome.failure());
        }
        return outcomes;
    }

    /**
     * After a READONLY error, retires all connections: the address may lead to a promoted server by now, while the
     * connections lead to the old server. Closes subscriptions, too, since they do not receive the messages of the
     * promoted server.
     */
    private void heed(@Nullable RedisException failure) {
        if (failure != null
                && failure.getCause() instanceof ErrorReply error
                && new RedisException.Refused(String.valueOf(error.getMessage()), error).says("READONLY")) {
            pool.renew();
            lane.renew();
            if (quick != null) {
                quick.renew();
            }
            subscriptions.renewAll();
        }
    }

    @Override
    public void openLane(long timeoutNanos) {
        if (!laneWanted.compareAndSet(false, true)) {
            return;
        }
        try {
            endpoint.workers().execute(() -> {
                try {
                    List<List<String>> ping = List.of(List.of("PING"));
                    new Question(lane, "the first connection for renewals", ping, timeoutNanos).perform(false);
                } catch (RedisException notNow) {
                    laneWanted.set(false);
                }
            });
        } catch (RejectedExecutionException closed) {
            // Ignored: the port is closed, or no thread could be started. Without a thread, the first renewal connects.
        }
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        return new Subscribing(channel, null, timeoutNanos).perform(endpoint.callersConnect());
    }

    @Override
    public JedisSubscription watch(String channel, Watcher watcher, long timeoutNanos) {
        return new Subscribing(channel, watcher, timeoutNanos).perform(endpoint.callersConnect());
    }

    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        ask("a message to " + channel, List.of(List.of("PUBLISH", channel, message)), timeoutNanos);
    }

    @Override
    public List<Object> ask(String what, List<List<String>> commands, long timeoutNanos) {
        return new Question(lane, what, commands, timeoutNanos).perform(true);
    }

    @Override
    public List<String> mastersOfSentinel(long timeoutNanos) {
        try {
            Question role = new Question(pool, "its role", List.of(List.of("ROLE")), timeoutNanos);
            return role.perform(true).get(0) instanceof List<?> parts
                            && parts.size() == 2
                            && "sentinel".equals(parts.get(0))
                            && parts.get(1) instanceof List<?> names
                    ? names.stream().map(String::valueOf).toList()
                    : List.of();
        } catch (RedisException e) {
            return List.of();
        }
    }

    @Override
    public int connections() {
        boolean ofOneLane = lane == pool;
        return pool.connections() + (ofOneLane ? 0 : lane.connections()) + subscriptions.connections();
    }

    @Override
    public String address() {
        return endpoint.address();
    }

    @Override
    public void close() {
        pool.close();
        lane.close();
        if (quick != null) {
            quick.close();
        }
        subscriptions.close();
        endpoint.workers().close();
    }

    /** Runs a script by its digest, or by its source if the server does not know the digest. */
    private final class Evaluation extends TimedRequest<Reply> {

        private final Call call;

        Evaluation(Call call, long timeoutNanos) {
            super(endpoint, pool, timeoutNanos);
            this.call = call;
        }

        @Override
        public String what() {
            return call.script().name();
        }

        @Override
        public Reply on(PooledConnection link) {
            try {
                return ask(link, Commands.evalsha(call, endpoint.address()));
            } catch (JedisNoScriptException unknown) {
                return ask(link, Commands.eval(call, endpoint.address()));
            }
        }

        private Reply ask(PooledConnection link, CommandArguments request) {
            Acks acks = call.acks();
            if (acks == null) {
                return Commands.reply(call, link.ask(request), resent());
            }
            link.send(request);
            link.send(Commands.awaitAcks(acks, leftNanos()));
            List<Object> answers = link.answers(2);
            if (answers.get(0) instanceof JedisDataException error) {
                throw error;
            }
            return Commands.confirmed(call, Commands.reply(call, answers.get(0), resent()), answers.get(1));
        }
    }

    /**
     * Sends commands together, and returns their replies with texts. The request is refused if the server refuses one
     * of the commands.
     */
    private final class Question extends TimedRequest<List<Object>> {

        private final String what;
        private final List<List<String>> commands;

        Question(ConnectionPool pool, String what, List<List<String>> commands, long timeoutNanos) {
            super(endpoint, pool, timeoutNanos);
            this.what = what;
            this.commands = commands;
        }

        @Override
        public String what() {
            return what;
        }

        @Override
        public List<Object> on(PooledConnection link) {
            CommandArguments[] requests = commands.stream().map(Commands::of).toArray(CommandArguments[]::new);
            return Commands.texts(link.askAll(requests));
        }
    }

    private final class Subscribing extends TimedRequest<JedisSubscription> {

        private final String channel;
        private final @Nullable Watcher watcher;

        Subscribing(String channel, @Nullable Watcher watcher, long timeoutNanos) {
            super(endpoint, subscriptions, timeoutNanos);
            this.channel = channel;
            this.watcher = watcher;
        }

        @Override
        public String what() {
            return "the subscription to " + channel;
        }

        @Override
        public JedisSubscription on(PooledConnection link) {
            Tracking.Listener listener = null;
            try {
                if (watcher == null) {
                    link.ask(Commands.subscribe(channel));
                } else {
                    listener = tracking.track(watching(link), watcher);
                }
            } catch (JedisDataException refused) {
                link.cut();
                throw refused;
            }
            link.disarm();
            return new JedisSubscription(endpoint, channel, link, listener);
        }

        /** Subscribes to the channel and to the reports of changed keys. Returns the id of the connection. */
        private long watching(PooledConnection link) {
            if (!(link.ask(Commands.number()) instanceof Long number)) {
                throw new JedisDataException("CLIENT ID was answered with no number");
            }
            // Test the commands that the lane will need: if the user has no right to them, the subscription fails at
            // once with that reason.
            link.askAll(Commands.track(number), Commands.remember());
            link.ask(Commands.trackNoMore());
            link.askAll(Commands.subscribe(SingleServer.CHANGES), Commands.subscribe(channel));
            return number;
        }

        /** Does nothing: the subscription keeps the connection. */
        @Override
        public void release(PooledConnection sound) {}
    }
}
