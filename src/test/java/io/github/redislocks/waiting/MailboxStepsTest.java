package io.github.redislocks.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.fixture.Logged;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.LockKeys;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** What the mailbox makes of messages and of their absence, and whom it tells that it is open or not. */
@Timeout(20)
@Isolated("It looks at what all threads log")
class MailboxStepsTest extends StillClient {

    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Longer than a test may take: who waits for that has not been woken. */
    private static final long TOO_LONG_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Map<Long, Attempt> attempts = new ConcurrentHashMap<>();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final AtomicInteger ended = new AtomicInteger();
    private final Mailbox mailbox = mailbox(redis);
    private Mailbox other;

    /** Notes what the messages say. */
    private final class Told implements Messages, Wanted {

        @Override
        public @Nullable Attempt attempt(long number) {
            return attempts.get(number);
        }

        @Override
        public void opened(boolean again) {
            if (again) {
                told.add("reopened");
            }
        }

        @Override
        public void grantedToNobody(long number) {
            told.add("nobody " + number);
        }

        @Override
        public void doubted(Attempt attempt) {
            told.add("doubt " + attempt.number);
        }

        @Override
        public void forced(long number, long token) {
            told.add("forced " + number + " " + token);
        }

        @Override
        public Wanted wanted() {
            return this;
        }

        @Override
        public void byWaiter(String lock, long attempt) {
            told.add("recalled " + lock + " " + attempt);
        }

        @Override
        public void byTry(String lock, String clientId, long attempt) {
            told.add("tried " + lock + " by " + clientId + " " + attempt);
        }

        @Override
        public void byAttempt(LockKeys keys) {}
    }

    private Mailbox mailbox(Redis port) {
        return mailbox(port, Threads.DAEMONS);
    }

    private Mailbox mailbox(Redis port, Threads threads) {
        return new Mailbox(new Mailbox.Source("mailbox", port, clock, TIMEOUT_NANOS), new Told(), null, threads);
    }

    @AfterEach
    void close() {
        mailbox.close();
        if (other != null) {
            other.close();
        }
    }

    /** The Redis of this test, but subscriptions are made so, and it may have no lines. */
    private Redis with(boolean lines, Supplier<Redis.Subscription> subscribe) {
        return (Redis) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Redis.class}, (p, method, args) -> {
                    if (method.getName().equals("subscribe")) {
                        return subscribe.get();
                    }
                    if (method.getName().equals("hasLines")) {
                        return lines;
                    }
                    try {
                        return method.invoke(redis, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private Redis.Subscription subscription() {
        return redis.subscribe("mailbox", TIMEOUT_NANOS);
    }

    /** A subscription that says when it was ended. */
    private Redis.Subscription counted() {
        Redis.Subscription made = subscription();
        return new Redis.Subscription() {
            @Override
            public String next() {
                return made.next();
            }

            @Override
            public void close() {
                ended.incrementAndGet();
                made.close();
            }
        };
    }

    private static ConditionFactory soon() {
        return await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    /** Has messages delivered, and one after them; what was told of them. */
    private List<String> deliver(String... messages) {
        for (String message : messages) {
            redis.publish("mailbox", message, TIMEOUT_NANOS);
        }
        redis.publish("mailbox", "99 5 0", TIMEOUT_NANOS);
        soon().until(() -> told.contains("nobody 99"));
        return told.subList(0, told.size() - 1);
    }

    private Attempt known(Attempt attempt) {
        attempts.put(attempt.number, attempt);
        return attempt;
    }

    private void ping() {
        mailbox.ping(TIMEOUT_NANOS);
    }

    @Test
    void grants_areTheVerdictsOfTheirAttempts() {
        Attempt first = known(begin(true));
        Attempt second = known(begin(true));
        mailbox.open(TIMEOUT_NANOS);
        assertThat(deliver(first.number + " 6 1", second.number + " 7 0")).isEmpty();
        assertThat(first.verdict()).isEqualTo(new Attempt.Grant(6, true, 0, clock.nanoTime(), false));
        assertThat(second.verdict()).isEqualTo(new Attempt.Grant(7, false, 0, clock.nanoTime(), false));
    }

    @Test
    void messagesToNobody_areToldAsWhatTheyAre() {
        mailbox.open(TIMEOUT_NANOS);
        assertThat(deliver("97 5 7", "98 0 0", "98 0 7")).containsExactly("nobody 97", "nobody 98", "forced 98 7");
    }

    @Test
    void messageWithoutAGrant_isADoubt() {
        Attempt attempt = known(begin(true));
        attempt.queued(clock.nanoTime(), 4, 100);
        mailbox.open(TIMEOUT_NANOS);
        assertThat(deliver(attempt.number + " 0 0")).containsExactly("doubt " + attempt.number);
        assertThat(attempt.mayAsk()).isFalse();
    }

    /** Its grant may have become a hold since the attempt was looked for. */
    @Test
    void forcedHold_whoseAttemptIsStillUnderWay_isADoubtOfBoth() {
        Attempt attempt = known(begin(true));
        mailbox.open(TIMEOUT_NANOS);
        assertThat(deliver(attempt.number + " 0 7"))
                .containsExactly("doubt " + attempt.number, "forced " + attempt.number + " 7");
    }

    @Test
    void messageWithoutAGrant_whereThereAreNoLines_hasItsAttemptAsk() {
        Attempt attempt = known(begin(true));
        attempt.queued(clock.nanoTime(), 4, 100);
        other = mailbox(with(false, this::subscription));
        other.open(TIMEOUT_NANOS);
        assertThat(deliver(attempt.number + " 0 0")).isEmpty();
        assertThat(attempt.mayAsk()).isTrue();
        assertThat(attempt.undecided()).isTrue();
    }

    @Test
    void emptyMessage_isToldToNobody() {
        mailbox.open(TIMEOUT_NANOS);
        String logged = Logged.by(() -> assertThat(deliver("")).isEmpty());
        assertThat(logged).isEmpty();
    }

    @Test
    void ping_ofAMailboxThatIsNotOpen_isNotSent() {
        ping();
        assertThat(redis.log().messages()).isZero();
        assertThat(mailbox.isPinging()).isFalse();
    }

    @Test
    void ping_isOverWhenItComesBack() {
        mailbox.open(TIMEOUT_NANOS);
        redis.holdMessages();
        ping();
        assertThat(mailbox.isPinging()).isTrue();
        assertThat(redis.log().messages()).isEqualTo(1);
        redis.deliverMessages();
        soon().until(() -> !mailbox.isPinging());
        assertThat(mailbox.channel()).isEqualTo("mailbox");
    }

    @Test
    void ping_thatDoesNotComeBack_endsTheSubscription_butNotBeforeTheTimeIsOver() {
        mailbox.open(TIMEOUT_NANOS);
        redis.dropMessages(true);
        clock.advanceMillis(500);
        ping();
        clock.advanceMillis(2_000);
        assertThat(Logged.by(this::ping)).isEmpty();
        assertThat(redis.log().messages()).isEqualTo(2);
        assertThat(mailbox.isOpen()).isTrue();
        clock.advanceMillis(1);
        assertThat(Logged.by(this::ping)).contains("no messages for 2501 ms");
        assertThat(redis.log().messages()).isEqualTo(2);
        assertThat(mailbox.isPinging()).isFalse();
        soon().until(() -> !mailbox.isOpen());
        soon().until(() -> clock.isParked(mailbox.reader()));
        clock.advanceMillis(200);
        soon().until(() -> told.contains("reopened"));
    }

    @Test
    void subscriptionThatBreaks_isClosed() {
        other = mailbox(with(true, this::counted));
        other.open(TIMEOUT_NANOS);
        redis.dropSubscriptions();
        soon().until(() -> !other.isOpen());
        assertThat(ended).hasValue(1);
    }

    @Test
    void subscriptionThatIsMadeWhileTheMailboxCloses_isClosed() {
        other = mailbox(with(true, () -> {
            other.close();
            return counted();
        }));
        assertThatThrownBy(() -> other.open(TOO_LONG_NANOS)).hasMessageContaining("closed");
        soon().until(() -> ended.get() == 1);
    }

    /** Waits until a thread waits for the mailbox, so that only its bell can wake it. */
    private static void awaitWaiting(Thread thread) {
        soon().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
    }

    @Test
    void whoWaitsForTheMailbox_isWokenWhenItIsOpen() {
        Thread caller = Thread.currentThread();
        other = mailbox(with(true, () -> {
            awaitWaiting(caller);
            return subscription();
        }));
        other.open(TOO_LONG_NANOS);
        assertThat(other.isOpen()).isTrue();
    }

    @Test
    void whoWaitsForTheMailbox_isWokenWhenItIsRefused_andToldWhy() {
        Thread caller = Thread.currentThread();
        RedisException refusal = new RedisException.Refused("NOPERM", null);
        CountDownLatch never = new CountDownLatch(1);
        AtomicInteger tries = new AtomicInteger();
        other = mailbox(with(true, () -> {
            if (tries.incrementAndGet() > 1) {
                awaitUninterrupted(never);
            }
            awaitWaiting(caller);
            throw refusal;
        }));
        assertThatThrownBy(() -> other.open(TOO_LONG_NANOS)).isSameAs(refusal);
        assertThatThrownBy(() -> other.open(MILLI))
                .as("that was another's")
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("in time");
        never.countDown();
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whoWaitsForTheMailbox_isWokenWhenItIsClosed() throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        other = mailbox(with(true, () -> {
            awaitUninterrupted(never);
            return subscription();
        }));
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                other.open(TOO_LONG_NANOS);
            } catch (RedisException e) {
                thrown.set(e);
            }
        });
        caller.start();
        awaitWaiting(caller);
        other.close();
        caller.join();
        assertThat(thrown.get()).hasMessageContaining("closed");
        never.countDown();
    }

    @Test
    void readerThatCannotBeStarted_isStartedByTheNextCaller() {
        AtomicInteger starts = new AtomicInteger();
        Threads scarce = Threads.of(
                work -> new Thread(work) {
                    @Override
                    public synchronized void start() {
                        if (starts.incrementAndGet() == 1) {
                            throw new OutOfMemoryError("of the test");
                        }
                        super.start();
                    }
                },
                "client");
        other = mailbox(redis, scarce);
        assertThatThrownBy(() -> other.open(TIMEOUT_NANOS))
                .isInstanceOf(RedisException.Unanswered.class)
                .hasMessageContaining("no thread could be started");
        other.open(TIMEOUT_NANOS);
        assertThat(other.isOpen()).isTrue();
    }
}
