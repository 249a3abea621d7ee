package io.github.redislocks;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.events.EventNotifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Tests what Java Flight Recorder is told, and that nothing is told while no recording runs. */
@Isolated("It looks at what is recorded of all threads")
class FlightRecordingTest extends FakeTime {

    private static final String OURS = "io.github.redislocks.";

    @TempDir
    private Path folder;

    private Recording recording;
    /** Of a client without listeners. */
    private final RedisReentrantLock job = other;

    @BeforeEach
    void record() {
        clock.advanceMillis(1_000);
        recording = new Recording();
        for (String name : List.of("LockWait", "LockHold")) {
            recording.enable(OURS + name).with("atLeast", "5 ms");
        }
        for (String name : List.of("LockLost", "Renewal", "RedisOutage")) {
            recording.enable(OURS + name);
        }
    }

    @AfterEach
    void end() {
        recording.close();
    }

    private List<RecordedEvent> events(String name) {
        return all().stream()
                .filter(event -> event.getEventType().getName().equals(OURS + name))
                .toList();
    }

    private List<RecordedEvent> all() {
        try {
            Path file = dumped();
            return RecordingFile.readAllEvents(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private Path dumped() throws IOException {
        Path file = Files.createTempFile(folder, "locks", ".jfr");
        recording.dump(file);
        return file;
    }

    private void holdFor(long millis) {
        job.lock();
        clock.advanceMillis(millis);
        job.unlock();
    }

    @Test
    void hold_thatLastsLongEnough_isRecorded() {
        recording.start();
        job.lock();
        long token = job.fencingToken();
        clock.advanceMillis(5);
        job.unlock();
        RecordedEvent hold = events("LockHold").get(0);
        assertThat(hold.getString("lock")).isEqualTo("job");
        assertThat(hold.getString("mode")).isEqualTo("WRITE");
        assertThat(hold.getLong("token")).isEqualTo(token);
        assertThat(hold.getDuration("held")).isEqualTo(Duration.ofMillis(5));
        assertThat(hold.getThread().getJavaName())
                .isEqualTo(Thread.currentThread().getName());
    }

    @Test
    void read_isRecordedAsOne() {
        recording.start();
        RedisReadLock read = others.readWriteLock("job").readLock();
        read.lock();
        clock.advanceMillis(5);
        read.unlock();
        assertThat(events("LockHold"))
                .extracting(event -> event.getString("mode"))
                .containsExactly("READ");
    }

    @Test
    void holdAndWait_thatAreShort_areNotRecorded() {
        recording.start();
        holdFor(4);
        assertThat(events("LockHold")).isEmpty();
        assertThat(events("LockWait")).isEmpty();
    }

    /** However short, since it tells of contention. */
    @Test
    void tryLock_ofABusyLock_isRecorded() {
        lock.lock();
        recording.start();
        assertThat(job.tryLock()).isFalse();
        RecordedEvent wait = events("LockWait").get(0);
        assertThat(wait.getString("outcome")).isEqualTo("BUSY");
        assertThat(wait.getString("mode")).isEqualTo("WRITE");
        assertThat(wait.getLong("token")).isZero();
    }

    @Test
    void loss_isRecordedWithoutAnyListener() {
        recording.start();
        fixed(job, Duration.ofSeconds(1)).lock();
        clock.advanceMillis(1_000);
        assertThat(job.isHeldByCurrentThread()).isFalse();
        await().until(() -> !events("LockLost").isEmpty());
        RecordedEvent loss = events("LockLost").get(0);
        assertThat(loss.getString("reason")).isEqualTo("EXPIRED");
        assertThat(loss.getString("mode")).isEqualTo("WRITE");
        assertThat(loss.getString("lock")).isEqualTo("job");
    }

    @Test
    void outage_isRecordedFromBeginToEnd() {
        recording.start();
        EventNotifier events = new EventNotifier(List.of());
        events.outageBegan(() -> "redis-1:6379", "no answer", 5_000_000);
        events.outageEnded(() -> "redis-1:6379", "no answer", 9_000_000);
        events.awaitTold(Duration.ofSeconds(10));
        List<RecordedEvent> outages = events("RedisOutage");
        assertThat(outages).extracting(event -> event.getBoolean("ended")).containsExactly(false, true);
        assertThat(outages)
                .extracting(event -> event.getDuration("lasted"))
                .containsExactly(Duration.ofMillis(5), Duration.ofMillis(9));
        assertThat(outages).extracting(event -> event.getString("server")).containsOnly("redis-1:6379");
    }
}
