package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A poll of all nodes of a quorum that shows the holder of a lock: the owner that a majority names. A candidate for
 * votes is not shown.
 */
public final class InspectPoll extends Poll {

    private final Call call;
    private final String held;
    private final int names;
    private final int ofHolder;

    /**
     * @param held the code of an answer that tells of a holder
     * @param names how many values name the holder, the first ones
     * @param ofHolder how many values tell of the holder; what is behind them is that of the node that tells most
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
    public Result judge(Heard heard) {
        int most = 0;
        for (Reply reply : heard.replies(held)) {
            List<Reply> same = heard.replies(held).stream()
                    .filter(other -> named(other).equals(named(reply)))
                    .toList();
            if (same.size() >= majority) {
                // A master that joined late has not counted the re-entries.
                Comparator<Reply> holds = Comparator.comparingLong(other -> ofHolder > 1 ? other.number(1) : 0);
                return Result.of(merged(Collections.max(same, holds), heard));
            }
            most = Math.max(most, same.size());
        }
        boolean mayBeHeld = most + heard.open() >= majority;
        if (heard.open() > 0 && (mayBeHeld || heard.replies().size() < majority)) {
            return null;
        }
        if (heard.replies().size() < majority) {
            return Result.of(heard.noMajority("a look at the lock", majority));
        }
        List<Object> nobody = new ArrayList<>(List.of("", 0L, 0L, 0L).subList(0, ofHolder));
        return Result.of(merged(new Reply("FREE", nobody), heard));
    }

    private List<?> named(Reply holder) {
        return holder.values().subList(0, names);
    }

    private Reply merged(Reply holder, Heard heard) {
        if (ofHolder == 0) {
            return holder;
        }
        List<Object> values = new ArrayList<>(holder.values().subList(0, ofHolder));
        heard.replies().stream()
                .max(Comparator.comparingLong(reply -> reply.number(ofHolder)))
                .ifPresent(most -> values.addAll(
                        most.values().subList(ofHolder, most.values().size())));
        return new Reply(holder.code(), values);
    }
}
