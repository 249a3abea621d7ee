package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A poll that finds the holder of a lock: the owner that a majority of the nodes names. An owner that has fewer votes
 * is a candidate, not the holder.
 */
public final class InspectPoll extends Poll {

    private final Call call;
    private final String held;
    private final int names;
    private final int ofHolder;

    /**
     * @param held the code of the replies that name a holder
     * @param names the number of values, from the first on, that identify the holder
     * @param ofHolder the number of values, from the first on, that describe the holder. The other values come from the
     *     node that knows most of them
     */
    public InspectPoll(int nodes, Call call, String held, int names, int ofHolder) {
        super(nodes);
        this.call = call;
        this.held = held;
        this.names = names;
        this.ofHolder = ofHolder;
    }

    @Override
    public Call call(PolledMaster node, String runId, long now, long timeoutNanos) {
        return call;
    }

    @Override
    @Nullable
    public Result judge(Answers answers) {
        int most = 0;
        for (Reply reply : answers.replies(held)) {
            List<Reply> same = answers.replies(held).stream()
                    .filter(other -> named(other).equals(named(reply)))
                    .toList();
            if (same.size() >= majority) {
                // Take the reply with the highest hold count: a node that gave its vote late, to a renewal, has not
                // counted the re-entries.
                Comparator<Reply> holds = Comparator.comparingLong(other -> ofHolder > 1 ? other.number(1) : 0);
                return Result.of(merged(Collections.max(same, holds), answers));
            }
            most = Math.max(most, same.size());
        }
        boolean mayBeHeld = most + answers.open() >= majority;
        if (answers.open() > 0 && (mayBeHeld || answers.replies().size() < majority)) {
            return null;
        }
        if (answers.replies().size() < majority) {
            return Result.of(answers.noMajority("a look at the lock", majority));
        }
        List<Object> nobody = new ArrayList<>(List.of("", 0L, 0L, 0L).subList(0, ofHolder));
        return Result.of(merged(new Reply("FREE", nobody), answers));
    }

    private List<?> named(Reply holder) {
        return holder.values().subList(0, names);
    }

    private Reply merged(Reply holder, Answers answers) {
        if (ofHolder == 0) {
            return holder;
        }
        List<Object> values = new ArrayList<>(holder.values().subList(0, ofHolder));
        answers.replies().stream()
                .max(Comparator.comparingLong(reply -> reply.number(ofHolder)))
                .ifPresent(most -> values.addAll(
                        most.values().subList(ofHolder, most.values().size())));
        return new Reply(holder.code(), values);
    }
}
