package io.github.redislocks;

import static io.github.redislocks.Happening.When.AT_ONCE;
import static io.github.redislocks.Happening.When.BY_A_HEARTBEAT;
import static io.github.redislocks.Happening.When.BY_ITS_END;
import static io.github.redislocks.Happening.When.BY_THE_RENEWAL;
import static io.github.redislocks.Happening.When.IN_TIME;

import io.github.redislocks.LockLost.Reason;
import io.github.redislocks.Way.Mode;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** An event in the life of a held lock: how a scene causes the event, and the news for the owner in each mode. */
@SuppressWarnings("ImmutableEnumChecker") // The code of a cell keeps no state, and nobody changes the cells.
enum Happening {
    RELEASED("by `unlock()`, `close()`, or the end of the action", LossScene::release, noLoss()),
    KEPT("by `releaseAfter` (handles of locks)", LossScene::keep, noLoss()),
    OLD("as the lease of its acquisition is over", scene -> {}, noLoss(), noLoss(), told(Reason.EXPIRED, IN_TIME)),
    STALLED(
            "as its process stood still for longer than the lease",
            scene -> scene.ground.stall(IN_TIME.millis(scene.ground.lease())),
            told(Reason.EXPIRED, AT_ONCE)),
    UNCONFIRMED(
            "as Redis does not answer",
            scene -> scene.away(true),
            told(Reason.UNCONFIRMED, IN_TIME),
            told(Reason.UNCONFIRMED, IN_TIME),
            told(Reason.EXPIRED, IN_TIME)),
    FORCED("by `forceUnlock()` of another client (locks)", LossScene::force, taken(BY_THE_RENEWAL)),
    HEARD(
            "forced by another client, after `lost()` or a wait of the owner's client (locks)",
            LossScene::force,
            taken(AT_ONCE)),
    OURS("forced by the owner's client (locks)", LossScene::forceOurs, taken(AT_ONCE)),
    DELETED("in Redis", LossScene::delete, taken(BY_THE_RENEWAL)),
    WATCHED("deleted in Redis, with `watchDeletions(true)` (locks)", LossScene::delete, taken(AT_ONCE)),
    FLUSHED("with all data", scene -> scene.ground.flush(), taken(BY_THE_RENEWAL)),
    WASHED("flushed with `watchDeletions(true)` (locks)", scene -> scene.ground.flush(), taken(AT_ONCE)),
    CLOSED(
            "with the owner's `RedisLocks`",
            scene -> scene.clients.forEach(client -> client.locks.close()),
            told(Reason.CLOSED, AT_ONCE)),
    ABANDONED(
            "as its thread ended without `unlock()`, or nobody has its handle any more (threads and handles)",
            LossScene::forget,
            told(Reason.ABANDONED, BY_THE_RENEWAL),
            told(Reason.ABANDONED, BY_THE_RENEWAL),
            told(Reason.EXPIRED, IN_TIME)),
    OVERDUE(
            "held for longer than its `maxHold`",
            scene -> {},
            told(Reason.HELD_TOO_LONG, IN_TIME),
            null,
            told(Reason.HELD_TOO_LONG, IN_TIME));

    /** The latest time of the news. */
    enum When {
        AT_ONCE,
        BY_A_HEARTBEAT,
        BY_THE_RENEWAL,
        IN_TIME,
        BY_ITS_END;

        /** In ms, of holds with such a lease, or a named one. */
        long millis(Duration lease) {
            return 100
                    + switch (this) {
                        case AT_ONCE -> 0;
                        case BY_A_HEARTBEAT -> 1_500;
                        case BY_THE_RENEWAL, BY_ITS_END -> lease.toMillis() / 3;
                        case IN_TIME -> Math.max(lease.toMillis(), Way.LEASE.toMillis());
                    };
        }
    }

    /** The news of a loss; no loss if there is no reason. */
    record Expected(@Nullable Reason reason, When when) {

        boolean isLoss() {
            return reason != null;
        }

        @Override
        public String toString() {
            return reason == null
                    ? "no loss"
                    : "`" + reason + "` " + when.name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    private final String text;
    final Consumer<LossScene> happens;
    /** The news in other modes, if resident, if named. */
    private final Expected[] expected;

    Happening(String text, Consumer<LossScene> happens, Expected... expected) {
        this.text = text;
        this.happens = happens;
        this.expected = expected;
    }

    private static Expected noLoss() {
        return new Expected(null, AT_ONCE);
    }

    private static Expected told(Reason reason, When when) {
        return new Expected(reason, when);
    }

    /** What Redis knows and does not say: a resident client asks at each heartbeat, nobody asks for a fixed lease. */
    private static Expected[] taken(When when) {
        boolean asked = when == BY_THE_RENEWAL;
        return new Expected[] {
            told(Reason.TAKEN, when),
            told(Reason.TAKEN, asked ? BY_A_HEARTBEAT : when),
            told(Reason.TAKEN, asked ? BY_ITS_END : when)
        };
    }

    /** Whether the event, as its row says, cannot happen to permits. */
    boolean isOfLocks() {
        return text.endsWith("locks)");
    }

    /** The cell of a mode; empty if the event does not exist in that mode. */
    Optional<Expected> expected(Mode mode) {
        int column = mode == Mode.RESIDENT ? 1 : mode == Mode.FIXED ? 2 : 0;
        return Optional.ofNullable(expected[expected.length == 1 ? 0 : column]);
    }

    /** The row of the page. */
    @Override
    public String toString() {
        return Arrays.stream(new Mode[] {Mode.PLAIN, Mode.RESIDENT, Mode.FIXED})
                .map(mode -> expected(mode).map(Expected::toString).orElse("-"))
                .collect(Collectors.joining(
                        " | ", "| " + name().toLowerCase(Locale.ROOT) + ", " + text + " | ", " |\n"));
    }
}
