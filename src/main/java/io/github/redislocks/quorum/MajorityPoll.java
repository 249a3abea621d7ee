package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A poll by which all nodes of a quorum do something that counts if a majority has done it. */
public class MajorityPoll extends Poll {

    /** Looks at all nodes, and waits for all of them. */
    public static MajorityPoll ofAll(int nodes, Call check) {
        return new MajorityPoll(nodes, check, Set.of("CHECKED"), "CHECKED", Long.MAX_VALUE) {
            @Override
            @Nullable
            public Result judge(Heard heard) {
                return heard.open() > 0 ? null : super.judge(heard);
            }
        };
    }

    private final Call call;
    private final Set<String> yes;
    private final String success;
    private final long patienceNanos;

    /**
     * @param call the same for all nodes
     * @param yes the codes of an answer that says that it was done
     * @param success what the client is answered then; GONE if it cannot be any more
     */
    public MajorityPoll(int nodes, Call call, Set<String> yes, String success, long patienceNanos) {
        super(nodes);
        this.call = call;
        this.yes = yes;
        this.success = success;
        this.patienceNanos = patienceNanos;
    }

    @Override
    public Call call(PolledMaster node, String runId, long now, long timeoutNanos) {
        return call;
    }

    @Override
    public long patienceNanos() {
        return patienceNanos;
    }

    @Override
    @Nullable
    public Result judge(Heard heard) {
        int done = (int) heard.replies().stream()
                .filter(reply -> yes.contains(reply.code()))
                .count();
        if (done >= majority) {
            return Result.of(new Reply(success, List.of(), heard.resent()));
        }
        int gone = heard.count("GONE") + heard.count("STALE");
        // A candidate that has no majority will withdraw; and a master that has just started is only one less.
        if (gone + heard.mostTaken() >= majority || heard.count("YOUNG") >= majority) {
            return Result.of(new Reply("GONE", List.of(), heard.resent()));
        }
        return heard.open() > 0
                ? null
                : Result.of(heard.noMajority(call.script().name(), majority));
    }
}
