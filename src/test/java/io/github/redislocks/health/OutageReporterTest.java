package io.github.redislocks.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockListener;
import io.github.redislocks.RedisOutage;
import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.script.Inspections;
import io.github.redislocks.state.LockKeys;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Tests when an outage is logged, and how often. */
@Isolated("It looks at what all threads log")
class OutageReporterTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final RedisException silent = new RedisException.Unanswered("no answer", true, null);
    private final RedisException full = new RedisException.Refused("OOM command not allowed", null);
    private final Call call = Inspections.locked(LockKeys.of("redis-locks", "job"));
    private final AtomicBoolean closed = new AtomicBoolean();
    private final EventNotifier events = new EventNotifier(List.of());
    private final OutageReporter news = new OutageReporter("Redis", () -> "host:6379", closed::get, events);

    private String said(Runnable what) {
        return Logged.infoBy(Loggers.CONNECTION, () -> {
            what.run();
            events.awaitTold(Duration.ofSeconds(20));
        });
    }

    private static String pairs(String log) {
        return log.replaceAll(
                        "(?s).*?(WARN|INFO) connection - Redis (is away|is back|refuses|at host:6379 has been replaced)",
                        "$2;")
                .replaceAll(";[^;]*\\n", ";");
    }

    /** The server replies while another thread reports the outage. */
    @Test
    void answered_whileTheOutageIsReported_publishesStartBeforeEnd() throws InterruptedException {
        List<String> heard = new CopyOnWriteArrayList<>();
        EventNotifier listened = new EventNotifier(List.of(new LockListener() {
            @Override
            public void outageBegan(RedisOutage outage) {
                heard.add("began");
            }

            @Override
            public void outageEnded(RedisOutage outage) {
                heard.add("ended");
            }
        }));
        AtomicReference<Runnable> answer = new AtomicReference<>();
        OutageReporter told = new OutageReporter(
                "Redis",
                () -> {
                    Runnable comes = answer.getAndSet(null);
                    if (comes != null) {
                        comes.run();
                    }
                    return "host:6379";
                },
                closed::get,
                listened);
        Thread answered = new Thread(() -> told.answered(3 * SECOND));
        answer.set(() -> {
            answered.start();
            await().until(() -> !answered.isAlive() || answered.getState() == Thread.State.WAITING);
        });
        told.away(silent, 1 * SECOND, 2 * SECOND);
        answered.join();
        listened.awaitTold(Duration.ofSeconds(20));
        assertThat(heard).containsExactly("began", "ended");
    }

    @Test
    void outage_isLoggedOnceAtItsStartAndOnceAtItsEnd() {
        String log = said(() -> {
            news.answered(1);
            news.away(silent, 1 * SECOND, 2 * SECOND);
            news.away(silent, 1 * SECOND, 3 * SECOND);
            news.answered(5 * SECOND);
            news.answered(6 * SECOND);
        });
        assertThat(pairs(log)).isEqualTo("is away;is back;");
        assertThat(log).contains("Redis is away: no answer.", "Redis is back: host:6379 answers again after 4000 ms");
    }

    @Test
    void outages_inQuickSuccession_areLoggedAtMostEveryTenSeconds() {
        String log = said(() -> {
            for (int i = 0; i < 100; i++) {
                long now = (20 + i) * SECOND / 10;
                news.away(silent, now, now);
                news.answered(now + 1);
                news.refuses(call, full, now);
            }
            news.away(silent, 13 * SECOND, 13 * SECOND);
            news.refuses(call, full, 70 * SECOND);
        });
        assertThat(pairs(log)).isEqualTo("is away;is back;refuses;is away;refuses;");
    }

    @Test
    void refusals_areLoggedOncePerKindAndMinute() {
        RedisException readOnly = new RedisException.Refused("READONLY You can't write", null);
        RedisException denied = new RedisException.Refused("NOPERM: no", null);
        String log = said(() -> {
            news.refuses(call, full, 1 * SECOND);
            news.refuses(call, readOnly, 2 * SECOND);
            news.refuses(call, denied, 3 * SECOND);
            news.refuses(call, readOnly, 61 * SECOND);
            news.refuses(call, full, 61 * SECOND);
            for (int i = 0; i < 1_000; i++) {
                news.refuses(call, new RedisException.Refused("E" + i + " of a strange server", null), 62 * SECOND);
            }
        });
        assertThat(log.lines().filter(line -> line.contains("OOM"))).hasSize(2);
        assertThat(log.lines().filter(line -> line.contains("READONLY"))).hasSize(1);
        assertThat(log.lines().filter(line -> line.contains("NOPERM"))).hasSize(1);
        assertThat(log.lines().filter(line -> line.contains("strange"))).hasSizeBetween(2, 32);
    }

    @Test
    void replaced_afterAnOutage_endsTheOutage() {
        String log = said(() -> {
            news.replaced(1);
            news.away(silent, 1 * SECOND, 2 * SECOND);
            news.replaced(4 * SECOND);
            news.answered(5 * SECOND);
        });
        assertThat(pairs(log)).isEqualTo("is away;at host:6379 has been replaced;");
        assertThat(log).contains("Redis at host:6379 has been replaced after 3000 ms");
    }

    @Test
    void away_beforeTheConnectionAndAfterTheClose_isNotLogged() {
        closed.set(true);
        assertThat(said(() -> {
                    news.away(silent, 1, 2);
                    news.refuses(call, full, 2);
                    news.answered(3);
                }))
                .isEmpty();
    }

    @RepeatedTest(50)
    void away_byManyThreads_isLoggedOnce() {
        AtomicInteger errors = new AtomicInteger();
        String log = said(() -> {
            CountDownLatch together = new CountDownLatch(4);
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    together.countDown();
                    try {
                        together.await();
                        news.away(silent, SECOND, 2 * SECOND);
                    } catch (InterruptedException e) {
                        errors.incrementAndGet();
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    errors.incrementAndGet();
                }
            }
            news.answered(3 * SECOND);
        });
        assertThat(errors).hasValue(0);
        assertThat(pairs(log)).isEqualTo("is away;is back;");
    }
}
