package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.client.Inside;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what the options of one lock object change, and that they change no other lock object. */
class LockOptionsTest extends FakeTime {

    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final Duration MINUTE = Duration.ofMinutes(1);

    @Test
    void options_areValues() {
        assertThat(PLAIN.lease(MINUTE).fair(true)).isEqualTo(PLAIN.fair(true).lease(MINUTE));
        assertThat(PLAIN.lease(MINUTE)).isNotEqualTo(PLAIN.fixedLease(MINUTE)).isNotEqualTo(PLAIN);
        assertThat(PLAIN.lease(MINUTE)).hasSameHashCodeAs(PLAIN.lease(MINUTE));
        assertThat(PLAIN).hasToString("LockOptions[]");
        assertThat(PLAIN.fixedLease(MINUTE).relockAfterLoss(false).fair(true))
                .hasToString("LockOptions[fixedLease=60 s, relockAfterLoss=false, fair=true]");
    }

    @Test
    void values_thatCannotWork_areRefusedAtOnce() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PLAIN.lease(Duration.ofMillis(99)))
                .withMessageContaining("99 ms");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PLAIN.fixedLease(Duration.ofHours(25)))
                .withMessageContaining("25 h");
    }

    private interface Use {
        Object of(LockOptions options);
    }

    private static boolean isRefused(Use use, LockOptions options) {
        try {
            use.of(options);
            return false;
        } catch (IllegalArgumentException e) {
            assertThat(e).hasMessageMatching(".*(residency is 60 s|relockAfterLoss is false).*: .*(Set|Leave) .*");
            return true;
        }
    }

    /** Each option, the options that exclude it, and the objects that cannot have it. */
    @Test
    void option_thatCannotApply_isRefusedWhereItIsGiven() {
        Map<String, UnaryOperator<LockOptions>> options = new TreeMap<>(Map.of(
                "lease", plain -> plain.lease(MINUTE),
                "fixedLease", plain -> plain.fixedLease(MINUTE),
                "relockAfterLoss", plain -> plain.relockAfterLoss(false),
                "fair", plain -> plain.fair(true),
                "maxHold", plain -> plain.maxHold(MINUTE),
                "residency", plain -> plain.residency(MINUTE)));
        Map<String, Use> uses = new TreeMap<>(Map.of(
                "reentrantLock", each -> locks.reentrantLock("job", each),
                "multiLock", each -> locks.multiLock(List.of("job"), each),
                "leadership", each -> LeaderOptions.defaults().lock(each)));
        uses.putAll(options.entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, option -> given -> option.getValue().apply(given))));
        Map<String, List<String>> refused = new TreeMap<>();
        options.forEach((name, option) -> refused.put(
                name,
                uses.keySet().stream()
                        .filter(use -> isRefused(uses.get(use), option.apply(PLAIN)))
                        .toList()));
        assertThat(refused)
                .isEqualTo(Map.of(
                        "lease", List.of(),
                        "fixedLease", List.of("residency"),
                        "relockAfterLoss", List.of("leadership"),
                        "fair", List.of("residency"),
                        "maxHold", List.of("residency"),
                        "residency", List.of("fair", "fixedLease", "leadership", "maxHold", "multiLock")));
    }

    /** Each option over each setting of the client: refused, or the lock is kept after its unlock, or released. */
    @Test
    void option_thatTheClientExcludes_isRefusedWhereItIsGiven() {
        Map<String, Settings> settings = new TreeMap<>(Map.of(
                "plain", Settings.DEFAULTS,
                "maxHold", Settings.DEFAULTS.withMaxHold(MINUTE),
                "residency", Settings.DEFAULTS.withResidency(MINUTE)));
        Map<String, LockOptions> options = new TreeMap<>(Map.of(
                "none", PLAIN,
                "lease", PLAIN.lease(MINUTE),
                "fixedLease", PLAIN.fixedLease(MINUTE),
                "relockAfterLoss", PLAIN.relockAfterLoss(false),
                "fair", PLAIN.fair(true),
                "maxHold", PLAIN.maxHold(MINUTE),
                "residency", PLAIN.residency(MINUTE),
                "residency without maxHold", PLAIN.maxHold(Duration.ZERO).residency(MINUTE)));
        Map<String, List<String>> refused = new TreeMap<>();
        Map<String, List<String>> kept = new TreeMap<>();
        settings.forEach((client, own) -> {
            RedisLocks made = RedisLocks.on(server.another(), own, List.of(), clock);
            clients.add(made);
            try {
                refused.put(client, new ArrayList<>());
                kept.put(client, new ArrayList<>());
                // A client keeps locks as soon as it hears who wants them.
                made.reentrantLock("first", options.get("residency without maxHold"));
                await().until(() -> inside(made).mailbox().isOpen());
                options.forEach((option, each) -> {
                    if (isRefused(given -> made.reentrantLock(client + option, given), each)) {
                        refused.get(client).add(option);
                        return;
                    }
                    RedisReentrantLock of = made.reentrantLock(client + option, each);
                    of.lock();
                    of.unlock();
                    if (others.reentrantLock(client + option).isLocked()) {
                        kept.get(client).add(option);
                    }
                });
            } finally {
                whileTimePasses(made::close);
            }
        });
        assertThat(refused)
                .isEqualTo(Map.of("plain", List.of(), "maxHold", List.of("residency"), "residency", List.of()));
        List<String> keeping = List.of("residency", "residency without maxHold");
        assertThat(kept)
                .isEqualTo(Map.of(
                        "plain",
                        keeping,
                        "maxHold",
                        List.of("residency without maxHold"),
                        "residency",
                        List.of("lease", "none", "relockAfterLoss", "residency", "residency without maxHold")));
    }

    /** Once with a client that keeps the lock: there a thread locks without a request. */
    @ParameterizedTest
    @ValueSource(longs = {0, 60_000})
    void relockAfterLoss_false_refusesTheThreadUntilUnlockHasToldIt(long residencyMillis) {
        RedisReentrantLock strict =
                locks.reentrantLock("job", PLAIN.relockAfterLoss(false).residency(Duration.ofMillis(residencyMillis)));
        strict.lock();
        strict.lock();
        other.forceUnlock();
        pass(10_000);
        assertThat(strict.isHeldByCurrentThread()).isFalse();
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(strict::lock).isInstanceOf(LockLostException.class);
            assertThatThrownBy(strict::tryLock).isInstanceOf(LockLostException.class);
            assertThatThrownBy(() -> strict.tryLock(Duration.ofSeconds(1))).isInstanceOf(LockLostException.class);
            assertThat(server.hash(KEY)).as("nothing is taken").isEmpty();
            assertThatThrownBy(strict::unlock).isInstanceOf(LockLostException.class);
        }
        assertThat(strict.tryLock()).isTrue();
        assertThat(strict.getHoldCount()).isOne();
        strict.unlock();
    }

    /** The client has the lock again, for another thread, so that no request would be needed. */
    @Test
    void relockAfterLoss_false_refusesAlsoWhatTheClientKeeps() throws Exception {
        LockOptions options = PLAIN.relockAfterLoss(false).residency(MINUTE);
        RedisReentrantLock strict = locks.reentrantLock("job", options);
        strict.lock();
        other.forceUnlock();
        pass(10_000);
        OwnThread.run(() -> strict.callWithLock(() -> null)).get(20, TimeUnit.SECONDS);
        assertThatThrownBy(strict::tryLock).isInstanceOf(LockLostException.class);
        assertThatThrownBy(strict::unlock).isInstanceOf(LockLostException.class);
        assertThat(strict.tryLock()).isTrue();
        strict.unlock();
    }

    @Test
    void fixedLease_isNotRenewed() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.fixedLease(Duration.ofSeconds(5)));
        brief.lock();
        assertThat(brief.remainingLease()).isBetween(Duration.ofMillis(4_900), Duration.ofSeconds(5));
        pass(6_000);
        assertThat(brief.isHeldByCurrentThread()).isFalse();
        assertThat(redis.log().count("renew")).isZero();
        assertThatThrownBy(brief::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void lease_ofOneLock_isRenewedEveryThirdOfIt() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.lease(Duration.ofSeconds(3)));
        RedisReentrantLock usual = locks.reentrantLock("other");
        brief.lock();
        usual.lock();
        assertThat(server.pttl(KEY)).isLessThanOrEqualTo(3_000);
        pass(9_500);
        assertThat(redis.log().count("renew")).isEqualTo(9);
        assertThat(server.pttl(KEY)).isLessThanOrEqualTo(3_000);
        pass(20_000);
        brief.ensureHeld();
        usual.ensureHeld();
        brief.unlock();
        usual.unlock();
        assertThat(losses).isEmpty();
    }

    /** Though holds that are due together are renewed together. */
    @Test
    void lease_ofTwoLocks_isNotThatOfTheClient() {
        List<RedisReentrantLock> brief = List.of(
                locks.reentrantLock("job", PLAIN.lease(Duration.ofSeconds(3))),
                locks.reentrantLock("other", PLAIN.lease(Duration.ofSeconds(3))));
        brief.forEach(RedisReentrantLock::lock);
        pass(9_500);
        assertThat(server.pttl(KEY)).isLessThanOrEqualTo(3_000);
        brief.forEach(RedisReentrantLock::ensureHeld);
        brief.forEach(RedisReentrantLock::unlock);
    }

    /** The watchdog rests the longer the more holds there are, but never for longer than a short lease bears. */
    @Test
    void rest_ofTheWatchdog_isShortEnoughForTheShortestLease() {
        Inside client = inside;
        Renewals renewals = client.renewals(1);
        for (int i = 0; i < 4_000; i++) {
            locks.reentrantLock("many-" + i).lock();
        }
        assertThat(renewals.restNanos()).isEqualTo(12_000_000);
        renewals.isInUse(120);
        renewals.isInUse(30_000);
        assertThat(renewals.restNanos()).isEqualTo(5_000_000);
    }

    @Test
    void lease_longerThanTheClients_outlastsAnOutageThatTheUsualDoesNot() {
        RedisReentrantLock enduring = locks.reentrantLock("job", PLAIN.lease(Duration.ofMinutes(5)));
        RedisReentrantLock usual = locks.reentrantLock("other");
        enduring.lock();
        usual.lock();
        pass(120_000);
        redis.down(true);
        pass(60_000);
        assertThat(usual.isHeldByCurrentThread()).isFalse();
        enduring.ensureHeld();
        redis.down(false);
        pass(120_000);
        enduring.ensureHeld();
        enduring.unlock();
    }

    @Test
    void leases_ofTwoObjectsOfOneName_theLongerCounts() {
        RedisReentrantLock brief = locks.reentrantLock("job", PLAIN.lease(Duration.ofSeconds(3)));
        RedisReentrantLock enduring = locks.reentrantLock("job", PLAIN.lease(Duration.ofMinutes(5)));
        brief.lock();
        enduring.lock();
        assertThat(server.pttl(KEY)).isGreaterThan(290_000);
        pass(10_000);
        assertThat(server.pttl(KEY)).isGreaterThan(290_000);
        brief.unlock();
        enduring.unlock();
        assertThat(server.hash(KEY)).isEmpty();
    }

    @Test
    void maxHold_isAValue_andZeroIsOne() {
        assertThat(PLAIN.maxHold(MINUTE)).isEqualTo(PLAIN.maxHold(MINUTE)).isNotEqualTo(PLAIN);
        assertThat(PLAIN.maxHold(Duration.ZERO)).isNotEqualTo(PLAIN).hasToString("LockOptions[maxHold=0 s]");
        assertThat(PLAIN.maxHold(MINUTE).fair(true).lease(MINUTE))
                .hasToString("LockOptions[lease=60 s, fair=true, maxHold=60 s]");
    }

    @Test
    void fixedLease_longerThanTheMaxHoldOfTheSameOptions_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PLAIN.fixedLease(Duration.ofSeconds(61)).maxHold(MINUTE))
                .withMessageContaining("The fixedLease is 61 s, and the maxHold of the same options 60 s");
        LockOptions limited = PLAIN.maxHold(MINUTE);
        assertThatIllegalArgumentException().isThrownBy(() -> limited.fixedLease(Duration.ofSeconds(61)));
        limited.fixedLease(MINUTE);
        limited.lease(Duration.ofSeconds(61));
        limited.maxHold(Duration.ZERO).fixedLease(Duration.ofSeconds(61));
    }

    @Test
    void fair_isTheFairLockOfThatName() {
        assertThat(locks.reentrantLock("job", PLAIN.fair(true)).isFair()).isTrue();
        assertThat(locks.reentrantLock("job", PLAIN).isFair()).isFalse();
    }
}
