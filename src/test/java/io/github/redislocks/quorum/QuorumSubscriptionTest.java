package io.github.redislocks.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.redis.RedisException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedTransferQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** The subscription of a quorum's client on one master, closed without memory. */
@Timeout(30)
@Isolated("It counts threads of the whole JVM")
class QuorumSubscriptionTest extends OneMaster {

    /** A queue that takes nothing, as without memory. */
    private static BlockingQueue<String> full() {
        return new LinkedTransferQueue<>() {
            @Override
            public boolean add(String message) {
                throw new OutOfMemoryError("made by the test");
            }
        };
    }

    private static long readers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("redis-locks-mailbox-memory"))
                .count();
    }

    @Test
    void close_meetsAnError_endsTheReaderAndTheSubscribers() {
        long before = readers();
        QuorumSubscription subscription = QuorumSubscription.open(List.of(node), "channel", 10 * SECOND, full());
        assertThat(readers()).isEqualTo(before + 1);
        CompletableFuture<String> next = OwnThread.call(subscription::next);
        assertThatThrownBy(subscription::close).isInstanceOf(OutOfMemoryError.class);
        assertThatThrownBy(next::join).hasCauseInstanceOf(RedisException.Unanswered.class);
        await().until(() -> readers() == before);
    }
}
