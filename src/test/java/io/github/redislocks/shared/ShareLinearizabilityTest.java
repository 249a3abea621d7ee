package io.github.redislocks.shared;

import static org.junit.jupiter.api.condition.JRE.JAVA_21;

import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.kotlinx.lincheck.paramgen.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;

/**
 * Threads that enter, await and leave a share while others close it for a writer, for want of readers, and open it
 * again, under Lincheck. An entry that the close of the share undoes is seen by others for a moment, so no order of the
 * calls explains all their results: each call answers nothing, and says itself what must not be.
 */
@Order(1) // In a JVM that has run hundreds of other tests, Lincheck takes five times as long.
@EnabledForJreRange(max = JAVA_21, disabledReason = "Lincheck instruments the JDK's classes, and lags behind it")
@Tag("long")
class ShareLinearizabilityTest {

    /** Two, and that of what comes after them. */
    private static final int THREADS = 4;

    @Test
    void share_underEveryInterleaving_neverEndsUnderAReader_andKeepsNobodyWaiting() {
        new ModelCheckingOptions()
                .threads(2)
                .actorsPerThread(2)
                .actorsBefore(0)
                .actorsAfter(1)
                .iterations(30)
                .invocationsPerIteration(100)
                .sequentialSpecification(Nothing.class)
                .check(Subject.class);
    }

    /** A share, and threads that use it. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    @SuppressWarnings("deprecation") // Nothing has taken the place of ThreadIdGen yet.
    public static class Subject {

        private final LockKeys keys = LockKeys.of("p", "a");
        private final Sharer sharer = new Sharer("client", keys, null, null);
        private final Share share = new Share(hold(), 0);
        private final Reader[] readers = new Reader[THREADS];
        private final Cell[] cells = new Cell[THREADS];
        private final AtomicLong time = new AtomicLong(1);
        private volatile boolean ended;

        /** A thread, and what it must be able to rely on. */
        @SuppressWarnings("EqualsHashCode") // Readers are equal as objects only.
        private static final class Reader extends Owner {

            final AtomicBoolean woken = new AtomicBoolean();
            final int number;
            volatile boolean reads;

            Reader(int number) {
                super("reader");
                this.number = number;
            }

            /** The same in each run, so that the cells are always in the same order. */
            @Override
            public int hashCode() {
                return number;
            }

            @Override
            public void wake() {
                woken.set(true);
            }

            /** None that is the calling one. */
            @Override
            public @Nullable Thread thread() {
                return null;
            }
        }

        public Subject() {
            for (int i = 0; i < THREADS; i++) {
                // Lincheck takes a cell that a call makes for one of that thread alone.
                readers[i] = new Reader(i);
                cells[i] = sharer.cell(readers[i]);
            }
            Cell asker = cells[0];
            asker.waits(0);
            sharer.begin(asker, share);
            if (!asker.leave(share)) {
                throw new IllegalStateException("the asker is not inside");
            }
        }

        private Hold hold() {
            Attempt attempt =
                    new Attempt(1, keys, sharer, new Attempt.Request(30_000, true, false), WaitLimit.endless());
            return new Hold(attempt, new Attempt.Grant(1, false, Long.MAX_VALUE, 0, true), 0, 0, null);
        }

        @Operation
        public void enter(@Param(name = "thread") int thread) {
            Cell cell = cells[thread];
            if (cell.isOut()) {
                reads(thread, sharer.enter(cell, 0) != null);
            }
        }

        /**
         * A thread that waits looks once, when it begins to or was woken. If there is no share, it asks for one next.
         */
        @Operation
        public void await(@Param(name = "thread") int thread) {
            Cell cell = cells[thread];
            if (cell.isOut()) {
                cell.waits(0);
            }
            if (cell.isWaiting()) {
                readers[thread].woken.set(false);
                reads(thread, sharer.letIn(cell, 0));
                if (sharer.share() == null) {
                    readers[thread].woken.set(true);
                }
            }
        }

        private void reads(int thread, boolean entered) {
            if (!entered) {
                left(sharer.share());
                return;
            }
            readers[thread].reads = true;
            if (ended) {
                throw new IllegalStateException("a thread reads under a share that was ended");
            }
        }

        @Operation
        public void leave(@Param(name = "thread") int thread) {
            Cell cell = cells[thread];
            Share held = cell.share();
            if (held != null) {
                readers[thread].reads = false;
                if (!cell.leave(held)) {
                    throw new IllegalStateException("nobody has lost the share");
                }
                left(held);
            }
        }

        /** As {@link Shares#left}, without Redis. */
        private void left(@Nullable Share present) {
            if (present != null && !present.isOpen() && sharer.beginsEnd(present)) {
                if (ended) {
                    throw new IllegalStateException("a share was ended twice");
                }
                ended = true;
                for (Reader reader : readers) {
                    if (reader.reads) {
                        throw new IllegalStateException("a share was ended under a thread that reads");
                    }
                }
                sharer.ended(present.hold);
            }
        }

        /** A writer recalls the share. */
        @Operation
        public void close() {
            sharer.wanted(share.hold.attempt);
            share.close(time.incrementAndGet());
            left(share);
        }

        /** A renewal finds that no writer waits any more. */
        @Operation
        public void reopen() {
            sharer.renewed(share.hold.attempt, false, time.incrementAndGet());
        }

        /** As the watchdog does if nobody seems to use the share. */
        @Operation
        public void closeIdle() {
            if (share.closeIdle()) {
                left(share);
                sharer.reopenIdle(share);
            }
        }

        @Validate
        public void nothingIsLeftUndone() {
            boolean used = sharer.isUsed(share);
            if (!share.isOpen() && !used && !ended) {
                throw new IllegalStateException("a closed share in which nobody is was not ended");
            }
            for (int i = 0; i < THREADS; i++) {
                boolean mayGoOn = share.isOpen() || (ended && isNext(i));
                if (cells[i].isWaiting() && mayGoOn && !readers[i].woken.get()) {
                    throw new IllegalStateException("a thread waits though it may go on, and nobody woke it");
                }
            }
        }

        /** Whether no other thread that waits was woken to ask for the next share. */
        private boolean isNext(int thread) {
            for (int i = 0; i < THREADS; i++) {
                if (i != thread && cells[i].isWaiting() && readers[i].woken.get()) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Answers nothing, so that only the checks count. */
    public static class Nothing {

        public void enter(int thread) {}

        public void await(int thread) {}

        public void leave(int thread) {}

        public void close() {}

        public void reopen() {}

        public void closeIdle() {}
    }
}
