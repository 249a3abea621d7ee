package io.github.redislocks;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a client meets its server: looks at it when it connects, and again whenever Redis has become another one, of
 * which it then asks everything anew.
 */
final class ServerWatch {

    private static final Logger log = LoggerFactory.getLogger(RedisLocks.class);

    private final Client client;
    private final Redis redis;
    private final Clock clock;
    private final LockOptions options;
    private final Outages outages;
    private final AtomicInteger moves = new AtomicInteger();
    private volatile long graceUntilNanos;
    /** Whether one script may name the keys of several locks. */
    private volatile boolean hasOneSlot;

    ServerWatch(Client client, Outages outages) {
        this.client = client;
        this.redis = client.redis;
        this.clock = client.clock;
        this.options = client.options;
        this.outages = outages;
        this.hasOneSlot = redis.hasOneSlot();
    }

    /** Looks at the server, and learns its time, by which requests are dated; throws if it cannot work. */
    void start() {
        redis.onMoved(this::moved);
        Call check = check().with(options.acks());
        try {
            redis.find(check.keys().get(0), options.commandTimeoutNanos());
            long sent = clock.nanoTime();
            Reply answer = checked(check);
            client.serverTimes.saw(redis.serverOf(check.keys().get(0)), answer, sent);
            ServerCheck server = new ServerCheck(redis.address(), answer);
            server.warnings().forEach(log::warn);
            outages.isAcknowledged(check.keys().get(0), answer, sent);
            String objection = server.objection();
            if (objection == null && hasOneSlot && server.hasSlots()) {
                hasOneSlot = false;
                objection = ServerCheck.objectionToSlots(redis, options.keyPrefix(), options.commandTimeoutNanos());
            }
            if (objection != null) {
                throw new LockUnavailableException(redis.address(), objection, false, null);
            }
            openLane();
            // Each node of a quorum is looked at by itself.
            String warning = redis.hasLines()
                    ? ServerCheck.warningOfSubscribing(redis, check.args().get(0), options.commandTimeoutNanos())
                    : null;
            if (warning != null) {
                log.warn(warning);
            }
        } catch (RedisException e) {
            String text = ServerCheck.isElsewhere(e)
                    ? ServerCheck.tooSmall(redis.address())
                    : "No connection to Redis at " + redis.address() + ": " + e.getMessage()
                            + ". Check the address, the user's password and rights, and that the server runs.";
            throw new LockUnavailableException(redis.address(), text, false, e);
        }
    }

    /** Whether one script may name the keys of several locks. */
    boolean hasOneSlot() {
        return hasOneSlot;
    }

    /** Takes a refusal of a script that named the keys of several locks: perhaps none may. */
    void refused(RedisException failure) {
        String text = String.valueOf(failure.getMessage());
        if (hasOneSlot && text.contains("CROSSSLOT")) {
            hasOneSlot = false;
            log.warn(
                    "Redis at {} keeps to the slots of a cluster, though it did not say so: {}. From now on holds are"
                            + " renewed one by one.",
                    redis.address(),
                    text);
        }
    }

    /** Asks again where the master was replaced under the question: a failover is no reason not to start. */
    private Reply checked(Call check) {
        long deadline = clock.nanoTime() + options.commandTimeoutNanos();
        String key = check.keys().get(0);
        while (true) {
            String server = redis.serverOf(key);
            try {
                return client.run(check, Math.max(1, deadline - clock.nanoTime()));
            } catch (RedisException.Unanswered e) {
                if (redis.serverOf(key).equals(server) || deadline - clock.nanoTime() <= 0) {
                    throw e;
                }
            }
        }
    }

    /**
     * Has the connection of the background's work made now: at a server that takes no more clients the first renewal
     * could not connect.
     */
    private void openLane() {
        Call first = Protocol.locked(Keys.ofNobody(options.keyPrefix()));
        String server = redis.serverOf(first.keys().get(0));
        RedisException failure = redis.runAll(List.of(first), options.commandTimeoutNanos())
                .get(0)
                .failure();
        // To a master that has just taken over the next check is sent, on that connection.
        if (failure != null && redis.serverOf(first.keys().get(0)).equals(server)) {
            throw failure;
        }
    }

    /** How often Redis has become another server. */
    int moves() {
        return moves.get();
    }

    /** Has all that the server before knew be asked of the new one: its time, every hold, every place in line. */
    private void moved() {
        long now = clock.nanoTime();
        client.serverTimes.forget(now);
        outages.moved();
        graceUntilNanos = now + options.failoverGrace().toNanos();
        moves.incrementAndGet();
        client.hurry();
        Call check = check();
        long until = now + client.leftoverNanos(options.leaseMillis());
        client.watchdog.run(new Errand(clock, check.keys().get(0), until) {
            @Override
            Call call() {
                return check;
            }

            @Override
            long follow(Reply answer, long sentNanos) {
                tell(answer);
                return DONE;
            }
        });
    }

    private Call check() {
        return Protocol.check(options.keyPrefix(), Keys.mailbox(options.keyPrefix(), client.id));
    }

    /** Says what is wrong with a server that this client has not chosen. */
    private void tell(Reply check) {
        ServerCheck server = new ServerCheck(redis.address(), check);
        server.warnings().forEach(log::warn);
        String objection = server.objection();
        if (objection != null) {
            log.error(objection);
        }
    }

    /** How long no lock may be acquired yet, since it may be held by somebody whom the new server does not know. */
    long graceNanos(long now) {
        return moves.get() == 0 ? 0 : Math.max(0, graceUntilNanos - now);
    }
}
