package io.github.redislocks.engine;

import com.github.benmanes.caffeine.cache.RemovalCause;
import io.github.redislocks.LockGivenUp;
import io.github.redislocks.LockLost;
import io.github.redislocks.concurrent.MemoryEdge;
import io.github.redislocks.concurrent.ThreadIds;
import io.github.redislocks.quorum.RenewPoll;
import io.github.redislocks.quorum.UnansweredVotes;
import io.github.redislocks.quorum.VoteAnswer;
import io.github.redislocks.quorum.VoteState;
import io.github.redislocks.quorum.Withdrawal;
import io.github.redislocks.redis.Request;
import io.github.redislocks.script.Answer;
import io.github.redislocks.script.Scripts;
import io.github.redislocks.state.Attempt;
import io.github.redislocks.state.Hold;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.LimitedHold;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Owner;
import io.github.redislocks.state.Residence;
import io.github.redislocks.state.WaitLimit;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.watchdog.BatchSender;
import io.github.redislocks.watchdog.PendingCommand;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * Initializes, when a client is made, the classes that it would otherwise first need later. A class whose
 * initialization fails with an {@link OutOfMemoryError} can never be used again (JLS 12.4.2), so a heap that was full
 * for a moment would leave the process without locks until it ends. If the heap is full when the client is made, the
 * maker of the client gets the error.
 */
public final class EagerClasses {

    private static final List<Class<?>> ALL = List.of(
            Sync.class,
            MemoryEdge.class,
            Exits.Ending.class,
            ThreadIds.class,
            Hold.class,
            LimitedHold.class,
            LockLost.Reason.class,
            LockGivenUp.Reason.class,
            Attempt.Left.class,
            Attempt.Way.class,
            Answer.Word.class,
            Request.Plain.class,
            Request.OfOneServer.class,
            Acquisitions.Told.class,
            Settlements.Result.class,
            LocalQueue.Left.class,
            PendingCommand.Need.class,
            BatchSender.class,
            Residence.class,
            Conditions.ConditionWait.Stage.class,
            VoteAnswer.Word.class,
            Withdrawal.End.class,
            Withdrawal.Place.class,
            RenewPoll.Round.class,
            RemovalCause.class,
            OptionalLong.class);

    private EagerClasses() {}

    public static void initialize() {
        initializeAll();
        drill();
    }

    /**
     * Runs code once that may otherwise first run while the heap is full. A lambda is linked when it is first
     * evaluated; if that fails, JDK 25 throws the same error at each later evaluation.
     */
    private static void drill() {
        LockKeys keys = LockKeys.of("redis-locks", "drill");
        Owner nobody = new Owner("drill");
        Attempt[] attempts = new Attempt[3];
        LocalQueue localQueue = new LocalQueue();
        for (int i = 0; i < attempts.length; i++) {
            attempts[i] = new Attempt(i, keys, nobody, new Attempt.Request(1, false, false), WaitLimit.endless());
            localQueue.enter(attempts[i]);
        }
        localQueue.successor(keys, 0);
        localQueue.inherit(0, attempts[1]);
        localQueue.leave(attempts[2]);
        localQueue.exit(keys, 1);
        Hold hold = new Hold(attempts[1], new Attempt.Grant(1, false, 1, 1, true), 1, Long.MAX_VALUE, null);
        Holds holds = new Holds();
        holds.put(hold);
        holds.put(hold);
        holds.remove(hold);
        Scripts.leave(attempts[1], false, null, false);
        // Initializes a class of the JDK behind this enum, without which a scheduled executor cannot wait.
        long unused = TimeUnit.MILLISECONDS.convert(1, TimeUnit.NANOSECONDS);
        UnansweredVotes votes = new UnansweredVotes();
        for (int i = 0; i < 2; i++) {
            votes.asking(new UnansweredVotes.Question(0, i, true, 1, System.nanoTime()));
            votes.mayHave(0);
        }
        VoteState.Register candidacies = new VoteState.Register(Duration.ofSeconds(1));
        for (int i = 0; i < 2; i++) {
            candidacies.of(Scripts.acquire(attempts[1], 0, false, 0));
        }
    }

    private static void initializeAll() {
        try {
            for (Class<?> each : ALL) {
                MethodHandles.lookup().ensureInitialized(each);
            }
        } catch (IllegalAccessException e) {
            throw new AssertionError("All of these are accessible here", e);
        }
    }
}
