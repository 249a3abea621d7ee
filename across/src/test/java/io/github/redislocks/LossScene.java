package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.redislocks.Happening.Expected;
import io.github.redislocks.Happening.When;
import io.github.redislocks.Way.Mode;
import io.github.redislocks.client.Inside;
import io.github.redislocks.micrometer.LockMetrics;
import io.github.redislocks.micrometer.LockObservations;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import jdk.jfr.consumer.RecordedEvent;
import org.assertj.core.api.SoftAssertions;
import org.jspecify.annotations.Nullable;

/** Causes one event for locks that are held in all ways of a mode, and compares all news of it with the table. */
final class LossScene {

    /** A Redis, and time. */
    interface Ground {
        RedisLocks connect(UnaryOperator<RedisLocksBuilder> settings);

        /** The lease of its clients. */
        Duration lease();

        void pass(long millis);

        /** Lets time pass until it is enough. */
        void pass(long millis, BooleanSupplier enough);

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

        /** Deletes the key that ends in this way after the key of a lock of that name. */
        void delete(String name, String keyEnd);

        void flush();

        /** Takes Redis away from a client, or brings it back. */
        void away(RedisLocks client, boolean away);

        /** Whether Redis has still given a lock to somebody when its loss is told, as Redis says. */
        boolean isTaken(BooleanSupplier inRedis);

        /** The losses that Flight Recorder has; null if nobody records. */
        default @Nullable List<RecordedEvent> recorded() {
            return null;
        }
    }

    private static final Duration KEPT = Duration.ofSeconds(2);

    final Ground ground;
    private final Happening what;
    private final Mode mode;
    private final Expected expected;
    private final RedisLocks rival;
    final List<Client> clients = new ArrayList<>();
    final List<Owner> owners = new ArrayList<>();
    private final SoftAssertions soft = new SoftAssertions();

    LossScene(Ground ground, Happening what, Mode mode) {
        this.ground = ground;
        this.what = what;
        this.mode = mode;
        this.expected = what.expected(mode).orElseThrow();
        this.rival = ground.connect(settings -> settings);
    }

    /** A loss, when it was told, and whether the lock was still taken in Redis then. */
    private record Told(LockLost loss, long nanos, boolean taken) {}

    /** A client of owners, and all news of its holds. */
    final class Client implements LockListener, ObservationHandler<Observation.Context> {

        final SimpleMeterRegistry meters = new SimpleMeterRegistry();
        final List<Told> losses = new CopyOnWriteArrayList<>();
        final List<String> releases = new CopyOnWriteArrayList<>();
        /** The names of locks with the outcomes of their holds. */
        final List<String> observed = new CopyOnWriteArrayList<>();

        final RedisLocks locks;

        Client() {
            LockMetrics metrics = new LockMetrics();
            metrics.bindTo(meters);
            ObservationRegistry observations = ObservationRegistry.create();
            observations.observationConfig().observationHandler(this);
            locks = ground.connect(settings -> settings.listener(this)
                    .listener(metrics)
                    .listener(new LockObservations(observations))
                    .watchDeletions(isWatched())
                    .maxHold(what == Happening.OVERDUE ? ground.lease().dividedBy(2) : Duration.ZERO)
                    .localReentry(mode == Mode.LOCAL)
                    .residency(mode == Mode.RESIDENT ? Duration.ofHours(1) : Duration.ZERO));
            metrics.watch(locks);
        }

        @Override
        public void lost(LockLost loss) {
            losses.add(new Told(loss, ground.nanos(), ground.isTaken(() -> isTaken(loss.lockName()))));
        }

        @Override
        public void released(LockReleased event) {
            releases.add(event.lockName());
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context.getName().equals(LockObservations.POSSESSION);
        }

        @Override
        public void onStop(Observation.Context hold) {
            observed.add(hold.getHighCardinalityKeyValue(LockObservations.LOCK_NAME)
                            .getValue() + ": "
                    + hold.getLowCardinalityKeyValue(LockObservations.OUTCOME).getValue());
        }

        double gauge() {
            return meters.get(LockMetrics.HELD).gauge().value();
        }

        /** The losses with this reason that the listener has been told of; holds of further names may be among them. */
        double countOf(String reason) {
            return losses.stream()
                    .filter(told -> reasonOf(told.loss.reason()).equals(reason))
                    .count();
        }

        double counted(String reason) {
            return meters.find(LockMetrics.LOST).tag(LockMetrics.REASON, reason).counters().stream()
                    .mapToDouble(Counter::count)
                    .sum();
        }
    }

    /** Takes a lock in one way, and answers questions on its thread as long as it has the lock. */
    final class Owner extends Way.Site {

        final Way way;
        final Client client;
        private final BlockingQueue<Runnable> questions = new LinkedBlockingQueue<>();
        /** The lock object, handle or term that has the lock, during the possession. */
        volatile @Nullable Object held;

        private Reference<Object> forgotten = new WeakReference<>(null);
        private boolean over;
        private boolean releases = true;
        volatile @Nullable Throwable thrown;

        Owner(Way way, Client client, LockOptions options) {
            super(client.locks, LossScene.this.rival, way.call(), options);
            this.way = way;
            this.client = client;
        }

        @Override
        public void run() {
            Throwable failure = catchThrowable(() -> way.body().hold(this));
            thrown = failure instanceof ExecutionException ? failure.getCause() : failure;
        }

        @Override
        boolean stay(Object possession) {
            held = possession;
            while (!over) {
                try {
                    questions.take().run();
                } catch (InterruptedException ofALoss) {
                    // The loss interrupts an action with a handle, which stays to be asked what it knows.
                }
            }
            forgotten = new WeakReference<>(possession);
            held = null;
            return releases;
        }

        /** Whether the possession has one of these methods. */
        boolean has(String... methods) {
            return method(methods).isPresent();
        }

        private Optional<Method> method(String... methods) {
            return Arrays.stream(Objects.requireNonNull(held).getClass().getMethods())
                    .filter(each -> each.getParameterCount() == 0)
                    .filter(each -> List.of(methods).contains(each.getName()))
                    .findFirst();
        }

        /**
         * Has the thread call the one of these methods that the possession has. Returns what that returns or throws.
         */
        @Nullable
        Object ask(String... methods) {
            Method method = method(methods).orElseThrow();
            return ask(() -> {
                method.setAccessible(true);
                try {
                    return method.invoke(held);
                } catch (InvocationTargetException e) {
                    return e.getCause();
                }
            });
        }

        @Nullable
        Object ask(Callable<Object> question) {
            FutureTask<Object> asked = new FutureTask<>(question);
            questions.add(asked);
            try {
                return asked.get();
            } catch (ExecutionException | InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        void end(boolean release) {
            questions.add(() -> {
                releases = release;
                over = true;
            });
        }

        List<Told> losses() {
            return client.losses.stream()
                    .filter(told -> told.loss.lockName().equals(name))
                    .toList();
        }

        @Nullable
        String holder() {
            return way.subject().holder(rival, name).map(LockOwner::clientId).orElse(null);
        }

        boolean isForcedBy(RedisLocks client) {
            return client.reentrantLock(name).forceUnlock();
        }

        boolean isTold() {
            return !losses().isEmpty();
        }

        boolean isWaiting() {
            return held != null
                    || (mode == Mode.WAITED && client.locks.waitedForNames().contains(name));
        }
    }

    void run() {
        List<CompletableFuture<LockHandle>> theirs = new ArrayList<>();
        for (Way.Row row : Way.ROWS) {
            if (row.has(mode)) {
                // A way that subscribes has those of its client told sooner.
                if (clients.isEmpty() || what == Happening.FORCED) {
                    clients.add(new Client());
                }
                row.ways().stream()
                        .filter(ground::offers)
                        .filter(way -> way.subject().meets(what))
                        .forEach(way -> enter(way, theirs));
            }
        }
        ground.passUntil(() -> owners.stream().allMatch(owner -> !owner.isAlive() || owner.isWaiting()));
        theirs.forEach(handle -> handle.join().close());
        ground.passUntil(() -> owners.stream().allMatch(owner -> !owner.isAlive() || owner.held != null));
        owners.forEach(owner -> assertThat(owner.thrown).as(owner.name).isNull());
        List<Owner> others = owners.stream()
                .filter(owner -> (what == Happening.KEPT && !(owner.held instanceof Handle))
                        || (what == Happening.ABANDONED && !owner.way.isForgotten()))
                .toList();
        end(others, true);
        owners.removeAll(others);
        clients.forEach(this::prepare);
        // A hold that was granted is confirmed after 1.5 s.
        ground.pass(what == Happening.UNCONFIRMED ? 2_000 : 30);
        for (Client client : clients) {
            client.releases.clear();
            client.observed.clear();
        }
        for (Owner owner : owners) {
            tells(owner, "inspect()", owner.holder(), owner.way.subject().shown(owner.locks.clientId()));
        }
        what.happens.accept(this);
        compare();
    }

    private void enter(Way way, List<CompletableFuture<LockHandle>> theirs) {
        LockOptions options = LockOptions.defaults().fair(mode == Mode.FAIR);
        LockOptions named = mode == Mode.FIXED ? options.fixedLease(Way.LEASE) : options;
        Owner owner = new Owner(way, clients.get(clients.size() - 1), named);
        if (mode == Mode.RESIDENT) {
            owner.lock().runWithLock(() -> {});
        }
        if (mode == Mode.WAITED) {
            CompletableFuture<LockHandle> handle = way.subject().acquire(rival, owner.name);
            ground.passUntil(handle::isDone);
            theirs.add(handle);
        }
        owners.add(owner);
        owner.start();
    }

    private void prepare(Client client) {
        if (what == Happening.HEARD) {
            CompletableFuture<LockHandle> other =
                    client.locks.reentrantLock("of " + client.locks).acquireAsync();
            ground.passUntil(other::isDone);
            other.join().lost();
        }
        if (what == Happening.HEARD || isWatched()) {
            ground.passUntil(() -> Inside.of(client.locks.client()).mailbox().isOpen());
        }
    }

    private boolean isWatched() {
        return what == Happening.WATCHED || what == Happening.WASHED;
    }

    private void end(List<Owner> some, boolean release) {
        some.forEach(owner -> owner.end(release));
        ground.passUntil(() -> some.stream().noneMatch(Thread::isAlive));
    }

    void release() {
        end(owners, true);
    }

    void keep() {
        owners.forEach(owner -> owner.ask(() -> ((Handle) Objects.requireNonNull(owner.held)).releaseAfter(KEPT)));
    }

    void delete() {
        owners.forEach(owner -> ground.delete(owner.name, owner.way.subject().keyEnd()));
    }

    /** Whether Redis has given the lock of an owner to somebody. */
    private boolean isTaken(String name) {
        return owners.stream().anyMatch(owner -> owner.name.equals(name) && owner.holder() != null);
    }

    void forget() {
        end(owners, false);
        while (!owners.stream().allMatch(owner -> owner.forgotten.refersTo(null))) {
            System.gc();
        }
    }

    void away(boolean away) {
        clients.forEach(client -> ground.away(client.locks, away));
    }

    void force() {
        owners.forEach(owner -> assertThat(owner.isForcedBy(rival)).isTrue());
    }

    void forceOurs() {
        owners.forEach(owner -> assertThat(owner.isForcedBy(owner.locks)).isTrue());
    }

    /** Waits until all must have told, and asks each. */
    private void compare() {
        long began = ground.nanos();
        long limit = expected.when().millis(ground.lease());
        boolean atEnd = expected.when() == When.BY_ITS_END;
        if (expected.isLoss() && !atEnd) {
            ground.pass(limit + ground.noiseMillis(), () -> owners.stream().allMatch(Owner::isTold));
        } else {
            ground.pass(limit);
        }
        for (Client client : clients) {
            // Holds that no owner asks for may end meanwhile.
            boolean[] agree = new boolean[1];
            ground.pass(1 + ground.noiseMillis(), () -> {
                agree[0] |= client.gauge() == client.locks.heldNames().size();
                return agree[0];
            });
            soft.assertThat(agree[0]).as("redis.locks.held is that of held()").isTrue();
        }
        if (!atEnd && what != Happening.RELEASED) {
            owners.forEach(owner -> compare(owner, (began / 1_000_000) + limit + ground.noiseMillis()));
        }
        release();
        ground.pass(
                100 + ground.noiseMillis(),
                () -> owners.stream().allMatch(owner -> owner.isTold() == expected.isLoss()));
        List<RecordedEvent> recorded = ground.recorded();
        owners.forEach(owner -> compareEnd(owner, recorded));
        if (what == Happening.UNCONFIRMED) {
            away(false);
        }
        long ended = ground.nanos();
        List<CompletableFuture<LockHandle>> next = owners.stream()
                .map(owner -> owner.way.subject().acquire(rival, owner.name))
                .toList();
        ground.passUntil(() -> next.stream().allMatch(CompletableFuture::isDone));
        soft.assertThat((ground.nanos() - ended) / 1_000_000)
                .as("free after ms")
                .isLessThan(When.IN_TIME.millis(ground.lease()) + ground.noiseMillis());
        for (int i = 0; i < owners.size(); i++) {
            compareNext(owners.get(i), next.get(i).join());
        }
        for (Client client : clients) {
            String reason = outcome();
            soft.assertThat(client.counted(reason))
                    .as("redis.locks.lost of " + reason)
                    .isEqualTo(client.countOf(reason));
        }
        soft.assertAll();
    }

    private void tells(Owner owner, String channel, @Nullable Object actual, @Nullable Object wanted) {
        soft.assertThat(actual).as("%s: %s", owner.name, channel).isEqualTo(wanted);
    }

    private static String reasonOf(LockLost.Reason reason) {
        return reason.name().toLowerCase(Locale.ROOT);
    }

    private String outcome() {
        return expected.reason() == null ? "released" : reasonOf(expected.reason());
    }

    private static @Nullable Object reason(@Nullable Object thrown) {
        return thrown instanceof LockLostException loss ? loss.reason() : thrown;
    }

    /** While the owner has not ended its possession. */
    private void compare(Owner owner, long limitMillis) {
        boolean holds = !expected.isLoss() && what != Happening.KEPT;
        compareListener(owner);
        for (Told told : owner.losses()) {
            soft.assertThat(told.nanos / 1_000_000)
                    .as("%s: told at ms", owner.name)
                    .isLessThanOrEqualTo(limitMillis);
            tells(owner, "told in time", told.taken || expected.when() != When.IN_TIME, true);
        }
        tells(owner, "heldNames()", owner.locks.heldNames().contains(owner.name), holds);
        if (what == Happening.ABANDONED || !owner.has("ensureHeld")) {
            return;
        }
        if (owner.has("lost", "stopping")) {
            CompletableFuture<?> news =
                    ((CompletionStage<?>) Objects.requireNonNull(owner.ask("lost", "stopping"))).toCompletableFuture();
            if (expected.isLoss()) {
                ground.pass(1 + ground.noiseMillis(), news::isDone);
            }
            // The work of a leader is to stop before its lock is lost.
            boolean stopped = what == Happening.CLOSED && owner.has("stopping");
            tells(owner, "lost()", news.isDone(), expected.isLoss());
            tells(owner, "reason of lost()", reasonOf(news.getNow(null)), stopped ? null : expected.reason());
        }
        tells(owner, "isHeld()", owner.ask("isHeld", "isHeldByCurrentThread"), holds);
        tells(owner, "remainingLease()", Duration.ZERO.equals(owner.ask("remainingLease")), !holds);
        Object thrown = reason(owner.ask("ensureHeld"));
        if (what == Happening.KEPT) {
            soft.assertThat(thrown)
                    .as("%s: ensureHeld()", owner.name)
                    .isExactlyInstanceOf(IllegalMonitorStateException.class);
        } else {
            tells(owner, "ensureHeld()", thrown, expected.reason());
        }
    }

    private static @Nullable Object reasonOf(@Nullable Object news) {
        Object loss = news instanceof Optional<?> some ? some.orElse(null) : news;
        return loss instanceof LockLost lost ? lost.reason() : loss;
    }

    private void compareListener(Owner owner) {
        List<?> reasons =
                owner.losses().stream().map(told -> told.loss.reason()).toList();
        tells(owner, "lost() of listeners", reasons, expected.isLoss() ? List.of(expected.reason()) : List.of());
    }

    /** After the owner has ended its possession. */
    private void compareEnd(Owner owner, @Nullable List<RecordedEvent> recorded) {
        boolean throwing = what != Happening.ABANDONED && !owner.way.isSilent();
        tells(owner, "its end", reason(owner.thrown), throwing ? expected.reason() : null);
        compareListener(owner);
        long released =
                owner.client.releases.stream().filter(owner.name::equals).count();
        tells(owner, "released() of listeners", released, expected.isLoss() ? 0L : 1L);
        String name = owner.name + ": ";
        List<String> observed = owner.client.observed.stream()
                .filter(hold -> hold.startsWith(name))
                .toList();
        tells(owner, "observation", observed, List.of(name + outcome()));
        if (recorded != null) {
            tells(owner, "recording", recorded.stream().anyMatch(event -> isOf(owner, event)), expected.isLoss());
        }
    }

    /** By the token: JDK 17 loses names of more than 15 characters if several threads record the same name. */
    private static boolean isOf(Owner owner, RecordedEvent event) {
        return owner.losses().stream()
                .anyMatch(told -> told.loss.token() == event.getLong("token")
                        && told.loss.reason().name().equals(event.getString("reason")));
    }

    private void compareNext(Owner owner, LockHandle next) {
        boolean forgetful = owner.way.subject().isForgottenBy(what);
        tells(owner, "previousHolderLost()", next.previousHolderLost(), expected.isLoss() && !forgetful);
        tells(owner, "inspect() of the next", owner.holder(), rival.clientId());
        next.close();
    }
}
