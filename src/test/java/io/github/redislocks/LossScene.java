package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.LossPage.Expected;
import io.github.redislocks.LossPage.Happening;
import io.github.redislocks.LossPage.Mode;
import io.github.redislocks.LossPage.Row;
import io.github.redislocks.LossPage.When;
import io.github.redislocks.micrometer.LockMetrics;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.assertj.core.api.SoftAssertions;
import org.jspecify.annotations.Nullable;

/** Has one thing happen to locks that are held in all ways of a mode, and compares what is told with the page. */
final class LossScene {

    /** A Redis, and time. */
    interface Ground {
        RedisLocks connect(UnaryOperator<RedisLocks.Builder> settings);

        /** Lets time pass until it is enough, which moved time need not ask. */
        void pass(long millis, BooleanSupplier enough);

        default void pass(long millis) {
            pass(millis, () -> false);
        }

        /** By how much the machine may delay what is due. */
        default long noiseMillis() {
            return 0;
        }

        default boolean offers(Way way) {
            return true;
        }

        void passUntil(BooleanSupplier condition);

        long nanos();

        /** Lets time pass while every process stands still. */
        void stall(long millis);

        void delete(String name);

        void flush();

        /** Takes Redis away from a client, or brings it back. */
        void away(RedisLocks client, boolean away);

        /** Whether Redis has given the lock to somebody. */
        boolean isTaken(String name);
    }

    /** More locks than one request takes. */
    private static final int MANY = 33;
    /** Ways whose end throws nothing after a loss. */
    private static final String SILENT = "Locks.leadership.*|RedisLocksProvider.*";

    private final Ground ground;
    private final Happening what;
    private final Mode mode;
    private final Expected expected;
    private final RedisLocks rival;
    private final List<Client> clients = new ArrayList<>();
    private final List<Owner> owners = new ArrayList<>();
    private final SoftAssertions soft = new SoftAssertions();

    LossScene(Ground ground, Happening what, Mode mode, Expected expected) {
        this.ground = ground;
        this.what = what;
        this.mode = mode;
        this.expected = expected;
        this.rival = ground.connect(settings -> settings);
    }

    /** A client of owners, with a listener that keeps each event, and with meters. */
    private final class Client implements LockListener {

        final SimpleMeterRegistry meters = new SimpleMeterRegistry();
        final List<Told> losses = new CopyOnWriteArrayList<>();
        final List<String> releases = new CopyOnWriteArrayList<>();
        final RedisLocks locks;

        Client() {
            LockMetrics metrics = new LockMetrics();
            metrics.bindTo(meters);
            locks = ground.connect(settings -> settings.listener(this)
                    .listener(metrics)
                    .watchDeletions(isWatched())
                    .maxHold(what == Happening.OVERDUE ? Duration.ofSeconds(15) : Duration.ZERO)
                    .localReentry(mode == Mode.LOCAL)
                    .residency(mode == Mode.RESIDENT ? Duration.ofHours(1) : Duration.ZERO));
            metrics.watch(locks);
        }

        @Override
        public void lost(LockLost loss) {
            losses.add(new Told(loss, ground.nanos(), ground.isTaken(loss.lockName())));
        }

        @Override
        public void released(LockReleased event) {
            releases.add(event.lockName());
        }

        List<Told> losses(String name) {
            return losses.stream()
                    .filter(told -> told.loss.lockName().equals(name))
                    .toList();
        }

        double counted() {
            return meters.find(LockMetrics.LOST).counters().stream()
                    .mapToDouble(Counter::count)
                    .sum();
        }
    }

    /** A loss, when it was told, and whether the lock was still taken in Redis then. */
    private record Told(LockLost loss, long nanos, boolean taken) {}

    /** Takes a lock in one way, and answers questions on its thread as long as it has the lock. */
    private final class Owner extends Thread implements Way.Inside {

        private final Way way;
        private final Way.Site site;
        private final Client client;
        private final BlockingQueue<Runnable> questions = new LinkedBlockingQueue<>();
        volatile Way.@Nullable Asked asked;
        private boolean over;
        private boolean releases = true;
        volatile @Nullable Throwable thrown;

        Owner(Way way, Client client) {
            super(way.text());
            this.way = way;
            this.client = client;
            LockOptions options = LockOptions.defaults().fair(mode == Mode.FAIR);
            site = new Way.Site(
                    client.locks,
                    rival,
                    way.text(),
                    mode == Mode.NAMED ? options.fixedLease(Way.LEASE) : options,
                    MANY);
        }

        @Override
        public void run() {
            thrown = catchThrowable(() -> way.hold(site, this));
        }

        @Override
        public boolean run(Way.Asked questionsOfWay) {
            asked = questionsOfWay;
            while (!over) {
                try {
                    questions.take().run();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return releases;
        }

        <T> T ask(Supplier<T> question) {
            CompletableFuture<T> answer = new CompletableFuture<>();
            questions.add(() -> {
                try {
                    answer.complete(question.get());
                } catch (RuntimeException | Error e) {
                    answer.completeExceptionally(e);
                }
            });
            return answer.join();
        }

        void end(boolean release) {
            questions.add(() -> {
                releases = release;
                over = true;
            });
        }

        Way.Asked asked() {
            return Objects.requireNonNull(asked);
        }

        String lock() {
            return site.name();
        }

        @Override
        public String toString() {
            return way.text();
        }
    }

    void run() {
        LossPage.rows().stream().filter(row -> row.modes().contains(mode)).forEach(this::enter);
        List<RedisReentrantLock> held = new ArrayList<>();
        for (Owner owner : owners) {
            prepare(owner, held);
            owner.start();
        }
        ground.passUntil(() -> owners.stream().allMatch(owner -> !owner.isAlive() || isWaiting(owner)));
        held.forEach(RedisReentrantLock::unlock);
        ground.passUntil(() -> owners.stream().allMatch(owner -> owner.asked != null || !owner.isAlive()));
        for (Owner owner : owners) {
            assertThat(owner.thrown).as(owner.lock()).isNull();
        }
        List<Owner> others =
                owners.stream().filter(owner -> !canHappen(owner.asked())).toList();
        end(others, true);
        owners.removeAll(others);
        if (isWatched()) {
            clients.forEach(client -> awaitMailbox(client.locks));
        }
        // A hold that was granted is confirmed after 1.5 s.
        ground.pass(what == Happening.UNCONFIRMED ? 2_000 : 30);
        clients.forEach(client -> client.releases.clear());
        happen();
    }

    private void end(List<Owner> some, boolean release) {
        some.forEach(owner -> owner.end(release));
        ground.passUntil(() -> some.stream().noneMatch(Thread::isAlive));
    }

    private boolean isWatched() {
        return what == Happening.WATCHED || what == Happening.WASHED;
    }

    private boolean canHappen(Way.Asked asked) {
        return (what != Happening.KEPT || asked.keep() != null) && (what != Happening.ABANDONED || asked.ofThread());
    }

    private boolean isWaiting(Owner owner) {
        return owner.asked != null
                || (mode == Mode.WAITED && owner.client.locks.waitedFor().contains(owner.lock()));
    }

    private void enter(Row row) {
        // A way that subscribes has those of its client told sooner.
        if (clients.isEmpty() || what == Happening.FORCED) {
            clients.add(new Client());
        }
        Client client = clients.get(clients.size() - 1);
        row.ways().stream().filter(ground::offers).forEach(way -> owners.add(new Owner(way, client)));
    }

    private void prepare(Owner owner, List<RedisReentrantLock> held) {
        if (mode == Mode.RESIDENT) {
            owner.site.lock().runWithLock(() -> {});
        }
        if (mode == Mode.WAITED) {
            RedisReentrantLock lock = rival.reentrantLock(owner.lock());
            lock.lock();
            held.add(lock);
        }
    }

    /** Has it happen, and compares. */
    private void happen() {
        if (what == Happening.HEARD) {
            clients.forEach(client -> listen(client.locks));
            ground.pass(30);
        }
        switch (what) {
            case RELEASED -> end(owners, true);
            case KEPT -> owners.forEach(owner -> owner.ask(() -> keep(owner)));
            case STALLED -> ground.stall(When.IN_TIME.millis);
            case UNCONFIRMED -> clients.forEach(client -> ground.away(client.locks, true));
            case FORCED, HEARD -> owners.forEach(owner -> force(rival, owner));
            case OURS -> owners.forEach(owner -> force(owner.client.locks, owner));
            case DELETED, WATCHED -> owners.forEach(owner -> ground.delete(owner.lock()));
            case FLUSHED, WASHED -> ground.flush();
            case CLOSED -> clients.forEach(client -> client.locks.close());
            case ABANDONED -> end(owners, false);
            case OLD, OVERDUE -> {}
        }
        long began = ground.nanos();
        boolean telling = expected.reason() != null && expected.when() != When.BY_ITS_END;
        if (telling) {
            ground.pass(millis(), () -> owners.stream().allMatch(this::isTold));
        } else {
            ground.pass(millis());
        }
        if (expected.when() != When.BY_ITS_END && what != Happening.RELEASED) {
            owners.forEach(owner -> compare(owner, began));
        }
        for (Owner owner : owners) {
            end(List.of(owner), true);
            compareEnd(owner);
        }
        for (Client client : clients) {
            soft.assertThat(client.counted())
                    .as("%s: redis.locks.lost", client.locks)
                    .isEqualTo(client.losses.size());
        }
        soft.assertAll();
    }

    private boolean isTold(Owner owner) {
        return !owner.client.losses(owner.lock()).isEmpty();
    }

    /** The latest time of the notification, in ms. */
    private long millis() {
        boolean ended = what == Happening.RELEASED || what == Happening.KEPT;
        return (ended ? When.AT_ONCE : expected.when()).millis + ground.noiseMillis();
    }

    private static boolean keep(Owner owner) {
        Objects.requireNonNull(owner.asked().keep()).run();
        return true;
    }

    /** Has a client subscribe. */
    private void listen(RedisLocks locks) {
        CompletableFuture<LockHandle> other = locks.acquireAsync("of " + locks);
        ground.passUntil(other::isDone);
        other.join().lost();
        awaitMailbox(locks);
    }

    private void awaitMailbox(RedisLocks locks) {
        ground.passUntil(() -> locks.client().mailbox.isOpen());
    }

    private void force(RedisLocks by, Owner owner) {
        soft.assertThat(by.reentrantLock(owner.lock()).forceUnlock())
                .as(owner.lock())
                .isTrue();
    }

    /** While the owner has not ended its possession. */
    private void compare(Owner owner, long began) {
        Way.Asked asked = owner.asked();
        boolean lost = expected.reason() != null;
        boolean holds = !lost && what != Happening.KEPT;
        List<Told> losses = owner.client.losses(owner.lock());
        soft.assertThat(losses).as("%s: lost() of listeners", owner).hasSize(lost ? 1 : 0);
        for (Told told : losses) {
            soft.assertThat(told.loss.reason()).as("%s: reason", owner).isEqualTo(expected.reason());
            soft.assertThat((told.nanos - began) / 1_000_000)
                    .as("%s: told after ms", owner)
                    .isLessThanOrEqualTo(millis());
            soft.assertThat(told.taken || expected.when() != When.IN_TIME)
                    .as("%s: told in time", owner)
                    .isTrue();
        }
        soft.assertThat(owner.client.locks.held().contains(owner.lock()))
                .as("%s: held()", owner)
                .isEqualTo(holds);
        if (asked.lost() != null) {
            CompletableFuture<LockLost> stage = asked.lost().get().toCompletableFuture();
            ground.pass(1);
            soft.assertThat(stage.isDone()).as("%s: lost()", owner).isEqualTo(lost);
            LockLost told = stage.getNow(null);
            // The work of a leader is to stop before its lock is lost.
            boolean stopped = what == Happening.CLOSED && owner.way.text().matches("Locks.leadership.*");
            soft.assertThat(told == null ? null : told.reason())
                    .as("%s: lost()", owner)
                    .isEqualTo(stopped ? null : expected.reason());
        }
        if (what != Happening.ABANDONED && asked.isHeld() != null) {
            soft.assertThat(owner.ask(asked.isHeld()::getAsBoolean))
                    .as("%s: isHeld", owner)
                    .isEqualTo(holds);
            soft.assertThat(owner.ask(asked.remaining()).isZero())
                    .as("%s: remainingLease", owner)
                    .isNotEqualTo(holds);
            Throwable thrown = owner.ask(() -> catchThrowable(asked.ensureHeld()::run));
            if (what == Happening.KEPT) {
                soft.assertThat(thrown)
                        .as("%s: ensureHeld", owner)
                        .isExactlyInstanceOf(IllegalMonitorStateException.class);
            } else {
                isLoss(owner, "ensureHeld", thrown);
            }
        }
    }

    private void isLoss(Owner owner, String query, @Nullable Throwable thrown) {
        soft.assertThat(thrown instanceof LockLostException loss ? loss.reason() : thrown)
                .as("%s: %s", owner, query)
                .isEqualTo(expected.reason());
    }

    private void compareEnd(Owner owner) {
        if (what != Happening.ABANDONED && !owner.way.text().matches(SILENT)) {
            isLoss(owner, "its end", owner.thrown);
        }
        if (expected.reason() != null) {
            ground.pass(100 + ground.noiseMillis(), () -> isTold(owner));
        }
        List<Told> losses = owner.client.losses(owner.lock());
        soft.assertThat(losses)
                .as("%s: lost() of listeners, in the end", owner)
                .hasSize(expected.reason() == null ? 0 : 1);
        soft.assertThat(owner.client.releases.stream().filter(owner.lock()::equals))
                .as("%s: released() of listeners", owner)
                .hasSize(expected.reason() == null ? 1 : 0);
    }
}
