package io.github.redislocks.shared;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.events.EventNotifier;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.WaitLimit;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * Claim: a share that is closed while threads enter and leave ends once, when nobody is inside; the thread that ends
 * the share sees what its readers wrote, although the field is not volatile.
 *
 * <pre>
 *   java -jar target/jcstress.jar -t 'EntryRacesEnd'
 *
 *   inside an ended share  FORBIDDEN   a writer may have the lock, and a thread reads
 *   never ends             FORBIDDEN   nobody is inside a closed share, and nobody ends it
 *   ends twice             FORBIDDEN   two threads end one share
 *   unseen                 FORBIDDEN   the next writer misses what a reader wrote
 *   inside                 acceptable  a thread was faster than the close, and will end the share
 *   ended                  acceptable  nobody is inside, and one thread ended the share
 * </pre>
 *
 * In {@code Core} two threads enter and leave, and then one enters again, and the other closes the share; in
 * {@code CoreExits} the share is closed while a reader leaves. The broken twin looks whether the share is open, and
 * writes its cell then.
 */
@Outcome(id = "inside an ended share", expect = Expect.FORBIDDEN, desc = "A writer and a reader at once.")
@Outcome(id = "never ends", expect = Expect.FORBIDDEN, desc = "A writer would wait for nobody.")
@Outcome(id = "ends twice", expect = Expect.FORBIDDEN, desc = "The second end could meet a later share.")
@Outcome(id = "unseen", expect = Expect.FORBIDDEN, desc = "No edge from a reader to the next writer.")
@Outcome(id = "inside", expect = Expect.ACCEPTABLE, desc = "The entry was faster.")
@Outcome(id = "ended", expect = Expect.ACCEPTABLE, desc = "The close was faster, or the reader has left.")
public class EntryRacesEnd {

    /** By this time of their clock, the shares are valid. */
    static final long NOW = 50;

    /** A sharer with an open share and the cells of two threads. */
    static class Reads {
        final Sharer sharer = sharer();
        final Share share = new Share(hold(sharer), 1);
        final Cell one = sharer.cell(new Owner("client:1"));
        final Cell other = sharer.cell(new Owner("client:2"));
        final AtomicInteger ends = new AtomicInteger();
        private int written;
        private volatile boolean unseen;

        Reads() {
            sharer.begin(one, share);
        }

        private static Sharer sharer() {
            Losses losses = new Losses(Clock.SYSTEM, (keys, attempt) -> {}, new EventNotifier(List.of()), () -> {});
            return new Sharer("client", LockKeys.of("p", "n"), losses, new Holds());
        }

        private static Hold hold(Sharer sharer) {
            Attempt attempt =
                    new Attempt(7, sharer.keys, sharer, new Attempt.Request(30_000, true, false), WaitLimit.endless());
            return new Hold(attempt, new Attempt.Grant(5, false, 100, 0, true), 0, Long.MAX_VALUE, null);
        }

        void enter(Cell cell) {
            if (sharer.enter(cell, NOW) == null) {
                left();
            }
        }

        void writeAndLeave(Cell cell) {
            written = 1;
            if (cell.leave(share)) {
                left();
            }
        }

        void close() {
            share.close(NOW);
            left();
        }

        private void left() {
            if (!share.isOpen() && sharer.beginsEnd(share)) {
                ends.incrementAndGet();
                unseen = written == 0;
            }
        }

        String end(boolean writes) {
            boolean inside = sharer.isUsed(share);
            if (ends.get() > 1) {
                return "ends twice";
            } else if (inside) {
                return ends.get() > 0 ? "inside an ended share" : "inside";
            } else if (ends.get() == 0) {
                return "never ends";
            }
            return writes && unseen ? "unseen" : "ended";
        }
    }

    @JCStressTest
    @JCStressMeta(EntryRacesEnd.class)
    @State
    public static class Core {
        private final Reads reads = new Reads();

        @Actor
        public void reader() {
            reads.enter(reads.one);
            reads.writeAndLeave(reads.one);
            reads.enter(reads.one);
        }

        @Actor
        public void another() {
            reads.enter(reads.other);
            reads.writeAndLeave(reads.other);
            reads.close();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = reads.end(false);
        }
    }

    @JCStressTest
    @JCStressMeta(EntryRacesEnd.class)
    @State
    public static class CoreExits {
        private final Reads reads = new Reads();

        public CoreExits() {
            reads.enter(reads.one);
        }

        @Actor
        public void reader() {
            reads.writeAndLeave(reads.one);
        }

        @Actor
        public void closer() {
            reads.close();
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = reads.end(true);
        }
    }

    @JCStressTest
    @JCStressMeta(EntryRacesEnd.class)
    @State
    public static class CoreBroken {
        private volatile boolean open = true;
        private volatile boolean inside;
        private volatile boolean looked;
        private boolean ended;

        @Actor
        public void reader() {
            if (open) {
                looked = true;
                for (int i = 0; i < 200 && open; i++) {
                    Thread.yield();
                }
                inside = true;
            }
        }

        @Actor
        public void closer() {
            for (int i = 0; i < 200 && !looked; i++) {
                Thread.yield();
            }
            ended = !inside;
            open = false;
        }

        @Arbiter
        public void look(L_Result r) {
            r.r1 = inside ? (ended ? "inside an ended share" : "inside") : "ended";
        }
    }
}
