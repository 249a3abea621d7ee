package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.state.Settings;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

/** Three masters of a quorum that only the test asks, and replies that they may give. */
abstract class ThreeMasters {

    static final long SECOND = 1_000_000_000;
    static final long ATTEMPT = 7;

    final LockKeys keys = LockKeys.of("redis-locks:quorum", "job");
    final QuorumCalls calls = new QuorumCalls(3);
    final VotePoll.Candidate candidate = new VotePoll.Candidate(keys.all(), "client:1", ATTEMPT, 3_000, 0, 0, "OK");
    final InMemoryRedis redis = new InMemoryRedis();
    /** The tasks for the retry timer. */
    final CopyOnWriteArrayList<Runnable> retries = new CopyOnWriteArrayList<>();

    final RetryTimer timer = new RetryTimer(Threads.DAEMONS) {
        @Override
        public void later(Runnable task) {
            retries.addIfAbsent(task);
        }
    };
    final List<QuorumNode> nodes = IntStream.range(0, 3)
            .mapToObj(i -> new QuorumNode(
                    i,
                    new QuorumServer(redis, "redis-locks:quorum", 0, 0, new ConcurrentHashMap<>()),
                    Settings.DEFAULTS,
                    calls,
                    timer,
                    Threads.DAEMONS))
            .toList();
    final QuorumNode node = nodes.get(0);

    @AfterEach
    void close() {
        timer.close();
        nodes.forEach(each -> {
            each.shutDown(System.nanoTime() + SECOND);
            each.close(System.nanoTime() + SECOND);
        });
    }

    static Reply voted(long token, long after, long lost) {
        return new Reply("VOTED", List.of(token, after, lost, 0L, 1L));
    }

    static Reply takenBy(String owner) {
        return new Reply("TAKEN", List.of(owner, 1_000L, 1L));
    }

    static Outcome unanswered(boolean sent) {
        return Outcome.of(new RedisException.Unanswered("away", sent, null));
    }

    /** The result of these answers, while others may still come. */
    static Poll.Result result(Poll poll, Reply... replies) {
        return poll.judge(new Poll.Answers(Stream.of(replies).map(Outcome::of).toList(), false));
    }
}
