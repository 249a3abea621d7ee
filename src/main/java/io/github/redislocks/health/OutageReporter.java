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
 * Reports outages of a server, and their ends, to the log and to the listeners. Also logs refusals. Limits how often it
 * logs.
 */
public final class OutageReporter implements Availability.Observer {

    /** The least time between two log entries about the same kind of refusal. */
    private static final long REFUSED_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(60);

    /** How many kinds of refusals are logged separately; all others count as one kind. */
    private static final int KINDS = 32;

    private final String what;
    private final Supplier<String> address;
    private final BooleanSupplier silent;
    private final EventNotifier events;
    /** The failure that was reported last. */
    private volatile String failure = "";

    private final LogLimiter outage = new LogLimiter();
    /** Held during each report, so that listeners learn of the start of an outage before its end. */
    private final ReentrantLock reporting = new ReentrantLock();
    /** When a kind of refusal was last logged. The kind is the first word of the server's error. */
    private final ConcurrentMap<String, Long> refusalsLoggedNanos = new ConcurrentHashMap<>();

    /**
     * Makes the reporter of one server, or of servers that replace each other.
     *
     * @param what the subject of the sentences in the log
     * @param silent returns true while outages are not reported: before the client has connected, and once it closes
     * @param events notifies the user's listeners
     */
    public OutageReporter(String what, Supplier<String> address, BooleanSupplier silent, EventNotifier events) {
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
        reporting.lock();
        try {
            if (outage.start(sinceNanos, now)) {
                events.log()
                        .add(() -> Loggers.CONNECTION.warn(
                                "{} is away: {}. Holds are valid until their deadlines, and calls"
                                        + " go on trying within their time limits.",
                                what,
                                failure.getMessage()));
                this.failure = String.valueOf(failure.getMessage());
                events.outageBegan(address, this.failure, now - sinceNanos);
            }
        } finally {
            reporting.unlock();
        }
    }

    @Override
    public void answered(long now) {
        if (outage.isLogged()) {
            reportEnd(
                    now,
                    (server, millis) ->
                            Loggers.CONNECTION.info("{} is back: {} answers again after {} ms", what, server, millis));
        }
    }

    @Override
    public void replaced(long now) {
        reportEnd(now, (server, millis) -> {
            if (server.isEmpty()) {
                Loggers.CONNECTION.info("{} names a master again, after {} ms in which a lock had none", what, millis);
            } else {
                Loggers.CONNECTION.info(
                        "{} at {} has been replaced after {} ms: others have its locks now", what, server, millis);
            }
        });
    }

    /**
     * Reports the end of an outage, if its start was reported.
     *
     * @param entry logs the end, given the server's address and the duration in ms
     */
    private void reportEnd(long now, BiConsumer<String, Long> entry) {
        reporting.lock();
        try {
            long since = outage.stop();
            if (since != 0) {
                String server = address.get();
                events.log().add(() -> entry.accept(server, (now - since) / 1_000_000));
                events.outageEnded(address, failure, now - since);
            }
        } finally {
            reporting.unlock();
        }
    }

    @Override
    public void refuses(Call call, RedisException failure, long now) {
        refuses(call.script().name(), failure, now);
    }

    /** Logs that the server refuses the named operation. */
    public void refuses(String what, RedisException failure, long now) {
        String text = String.valueOf(failure.getMessage());
        // MonitoredRedis logs a CROSSSLOT error, after which holds are renewed one by one.
        if (silent.getAsBoolean() || text.contains("CROSSSLOT") || !isNewRefusal(text, now)) {
            return;
        }
        events.log()
                .add(() -> Loggers.CONNECTION.warn("{} refuses {}: {}. {}", this.what, what, text, Remedy.of(failure)));
    }

    private boolean isNewRefusal(String text, long now) {
        String word = text.split("[ :]", 2)[0];
        String kind = refusalsLoggedNanos.size() < KINDS || refusalsLoggedNanos.containsKey(word) ? word : "";
        Long logged = refusalsLoggedNanos.get(kind);
        if (logged == null) {
            return refusalsLoggedNanos.putIfAbsent(kind, now) == null;
        }
        return now - logged >= REFUSED_AGAIN_NANOS && refusalsLoggedNanos.replace(kind, logged, now);
    }
}
