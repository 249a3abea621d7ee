package io.github.redislocks.health;

import io.github.redislocks.concurrent.LogLimiter;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Remedy;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Logs that a server does not answer, that it answers again, and that it refuses calls, and reports outages to the
 * listeners. It limits how often it logs.
 */
public final class OutageNews implements Availability.Witness {

    /** The least time between two log entries about the same kind of refusal. */
    private static final long REFUSED_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** The most kinds of refusals that are told apart; all others count as one kind. */
    private static final int KINDS = 32;

    private final String what;
    private final Supplier<String> address;
    private final BooleanSupplier silent;
    private final EventNotifier events;
    /** The failure that was reported last. */
    private volatile String failure = "";

    private final LogLimiter outage = new LogLimiter();
    /** Held while a beginning or an end is reported, so that listeners hear of them in their order. */
    private final ReentrantLock telling = new ReentrantLock();
    /** When a refusal was last logged, by its kind, which is the first word of the server's error. */
    private final ConcurrentMap<String, Long> refusalsToldNanos = new ConcurrentHashMap<>();

    /**
     * Makes the news of one server, or of servers that replace each other.
     *
     * @param what the subject of the log entries' sentences
     * @param silent whether failures are not reported: before the client has connected, and once it closes
     * @param events tells the user's listeners
     */
    public OutageNews(String what, Supplier<String> address, BooleanSupplier silent, EventNotifier events) {
        this.what = what;
        this.address = address;
        this.silent = silent;
        this.events = events;
    }

    @Override
    public void away(RedisException failure, long sinceNanos, long now) {
        if (silent.getAsBoolean()) {
            return;
        }
        telling.lock();
        try {
            if (outage.start(sinceNanos, now)) {
                events.log()
                        .add(() -> Loggers.CONNECTION.warn(
                                "{} is away: {}. What is held counts until its deadline, and calls go on trying as long as they may.",
                                what,
                                failure.getMessage()));
                this.failure = String.valueOf(failure.getMessage());
                events.outageBegan(address, this.failure, now - sinceNanos);
            }
        } finally {
            telling.unlock();
        }
    }

    @Override
    public void heard(long now) {
        if (outage.isLogged()) {
            tellEnd(
                    now,
                    (server, millis) ->
                            Loggers.CONNECTION.info("{} is back: {} answers again after {} ms", what, server, millis));
        }
    }

    @Override
    public void replaced(long now) {
        tellEnd(now, (server, millis) -> {
            if (server.isEmpty()) {
                Loggers.CONNECTION.info("{} names a master again, after {} ms in which a lock had none", what, millis);
            } else {
                Loggers.CONNECTION.info(
                        "{} at {} has been replaced after {} ms: others have its locks now", what, server, millis);
            }
        });
    }

    /**
     * Reports the end of the outage that was reported, if there is one; entry: logs it, given the server and the time
     * in ms.
     */
    private void tellEnd(long now, BiConsumer<String, Long> entry) {
        telling.lock();
        try {
            long since = outage.stop();
            if (since != 0) {
                String server = address.get();
                events.log().add(() -> entry.accept(server, (now - since) / 1_000_000));
                events.outageEnded(address, failure, now - since);
            }
        } finally {
            telling.unlock();
        }
    }

    @Override
    public void refuses(Call call, RedisException failure, long now) {
        refuses(call.script().name(), failure, now);
    }

    /** The server has replied that it cannot do what this names. */
    public void refuses(String what, RedisException failure, long now) {
        String text = String.valueOf(failure.getMessage());
        // MonitoredRedis logs CROSSSLOT, since it knows what to do.
        if (silent.getAsBoolean() || text.contains("CROSSSLOT") || !isNewRefusal(text, now)) {
            return;
        }
        events.log()
                .add(() -> Loggers.CONNECTION.warn("{} refuses {}: {}. {}", this.what, what, text, Remedy.of(failure)));
    }

    private boolean isNewRefusal(String text, long now) {
        String word = text.split("[ :]", 2)[0];
        String kind = refusalsToldNanos.size() < KINDS || refusalsToldNanos.containsKey(word) ? word : "";
        Long told = refusalsToldNanos.get(kind);
        if (told == null) {
            return refusalsToldNanos.putIfAbsent(kind, now) == null;
        }
        return now - told >= REFUSED_AGAIN_NANOS && refusalsToldNanos.replace(kind, told, now);
    }
}
