package io.github.redislocks.quorum;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A poll that makes the same change on all nodes of a quorum. The change counts once a majority has made it. */
public class MajorityPoll extends Poll {

    /** Makes a poll that waits for the answers of all nodes. */
    public static MajorityPoll ofAll(int nodes, Call check) {
        return new MajorityPoll(nodes, check, Set.of("CHECKED"), "CHECKED", Long.MAX_VALUE) {
            @Override
            @Nullable
            public Result judge(Answers answers) {
                return answers.open() > 0 ? null : super.judge(answers);
            }
        };
    }

    private final Call call;
    private final Set<String> yes;
    private final String success;
    private final long patienceNanos;

    /**
     * @param call the call, which is the same for all nodes
     * @param yes the codes of the replies that confirm the change
     * @param success the code of the answer to the client if a majority confirms the change. If no majority can confirm
     *     it any more, the answer is GONE
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
    public Result judge(Answers answers) {
        int done = (int) answers.replies().stream()
                .filter(reply -> yes.contains(reply.code()))
                .count();
        if (done >= majority) {
            return Result.of(new Reply(success, List.of(), answers.resent()));
        }
        int gone = answers.count("GONE") + answers.count("STALE");
        // Of the votes for other candidates, count only the votes of the candidate that has the most: the others will
        // withdraw theirs. A server that has just started answers YOUNG. That counts as no answer, unless a majority
        // answers YOUNG.
        if (gone + answers.mostTaken() >= majority || answers.count("YOUNG") >= majority) {
            return Result.of(new Reply("GONE", List.of(), answers.resent()));
        }
        return answers.open() > 0
                ? null
                : Result.of(answers.noMajority(call.script().name(), majority));
    }
}
