package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLost;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes under a lock whose lease and loss the test decides. */
@Timeout(60)
class SupervisionTest {

    private static final Duration LEASE = Duration.ofMinutes(30);
    private static final Duration LITTLE = Duration.ofMillis(1);
    private static final Duration JUST_OVER_A_THIRD = LEASE.dividedBy(3).plus(LITTLE);
    private static final Duration JUST_UNDER_A_THIRD = LEASE.dividedBy(3).minus(LITTLE);
    private static final Duration JUST_OVER_A_TENTH = LEASE.dividedBy(10).plus(LITTLE);
    private static final Duration JUST_UNDER_A_TENTH = LEASE.dividedBy(10).minus(LITTLE);
    private static final int KILLED = 128 + 9;
    private static final String DEAF = "trap '' TERM; touch ready; while :; do sleep 0.01; done";

    @TempDir
    Path folder;

    private Commands commands;
    private final StubHandle held = new StubHandle(LEASE);
    private final CompletableFuture<Boolean> inOrder = new CompletableFuture<>();
    private Thread supervisor;

    @BeforeEach
    void start() {
        commands = new Commands(folder);
    }

    @AfterEach
    void stop() {
        commands.close();
    }

    private ChildGroup supervise(String script) throws IOException {
        ChildGroup child = commands.start(script);
        commands.awaitFile("ready");
        supervise(child, new Supervision(held, LEASE));
        return child;
    }

    private void supervise(ChildGroup child, Supervision supervision) {
        supervisor = new Thread(() -> {
            try {
                inOrder.complete(supervision.await(child));
            } catch (Throwable e) {
                inOrder.completeExceptionally(e);
            }
        });
        supervisor.start();
    }

    private boolean inOrder() throws Exception {
        return inOrder.get(30, TimeUnit.SECONDS);
    }

    /** So that what it is about to do it has done. */
    private void awaitLooks() {
        int before = held.looks.get();
        await().until(() -> held.looks.get() > before + 2);
    }

    @Test
    void lease_ofWhichMoreThanAThirdIsLeft_leavesTheCommandAlone() throws Exception {
        held.left = () -> JUST_OVER_A_THIRD;
        ChildGroup child =
                supervise("trap 'touch told' TERM; touch ready; while [ ! -e go ]; do sleep 0.01; done; exit 7");
        awaitLooks();
        commands.go();
        assertThat(inOrder()).isTrue();
        assertThat(child.exitCode()).isEqualTo(7);
        assertThat(commands.has("told")).isFalse();
    }

    @Test
    void lockThatWasHandedOn_isAwaitedUntilItsClaimIsRenewed() throws Exception {
        Supervision supervision = new Supervision(held, LEASE);
        held.left = () -> held.looks.get() < 5 ? JUST_UNDER_A_TENTH : JUST_OVER_A_THIRD;
        assertThat(supervision.awaitWholeLease()).isTrue();
        assertThat(held.looks).hasValue(5);
    }

    @Test
    void lockThatWasHandedOn_lostBeforeItsClaimIsRenewed_isToldSo() throws Exception {
        Supervision supervision = new Supervision(held, LEASE);
        held.left = () -> Duration.ZERO;
        held.lost.complete(loss());
        assertThat(supervision.awaitWholeLease()).isFalse();
    }

    @Test
    void third_isLeft_terminatesOnce() throws Exception {
        ChildGroup child = supervise(
                "trap 'echo told >> told' TERM; touch ready;" + " while [ ! -e go ]; do sleep 0.01; done; exit 7");
        held.left = () -> JUST_UNDER_A_THIRD;
        commands.awaitFile("told");
        held.left = () -> JUST_OVER_A_TENTH;
        awaitLooks();
        commands.go();
        assertThat(inOrder()).isFalse();
        assertThat(child.exitCode()).isEqualTo(7);
        assertThat(commands.lines("told")).containsExactly("told");
    }

    @Test
    void tenth_isLeft_kills_thoughNoLossIsTold() throws Exception {
        ChildGroup child = supervise(DEAF);
        held.left = () -> JUST_UNDER_A_TENTH;
        assertThat(inOrder()).isFalse();
        assertThat(child.exitCode()).isEqualTo(KILLED);
    }

    /** Between two looks, which are an hour apart, and though the lease stays long. */
    @Test
    void loss_isTold_killsAtOnce() throws Exception {
        ChildGroup child = commands.start(DEAF);
        commands.awaitFile("ready");
        supervise(child, new Supervision(held, LEASE, TimeUnit.HOURS.toMillis(1)));
        await().until(() -> held.looks.get() == 1);
        held.lost.complete(loss());
        assertThat(inOrder()).isFalse();
        assertThat(child.exitCode()).isEqualTo(KILLED);
    }

    @Test
    void loss_ofACommandThatHasLeftAPart_killsThatToo() throws Exception {
        ChildGroup child = supervise("trap 'exit 0' TERM; (trap '' TERM; sh -c 'echo $PPID' > part;"
                + " while :; do sleep 0.01; done) & while [ ! -s part ]; do sleep 0.01; done; touch ready;"
                + " while :; do sleep 0.01; done");
        held.left = () -> JUST_UNDER_A_THIRD;
        await().until(() -> child.waitFor(0));
        awaitLooks();
        assertThat(inOrder).isNotDone();
        assertThat(commands.isAlive("part")).isTrue();
        held.left = () -> JUST_UNDER_A_TENTH;
        assertThat(inOrder()).isFalse();
        await().until(() -> !commands.isAlive("part"));
    }

    @Test
    void signal_isPassedOn_waitsForAllThatWereAsked() throws Exception {
        ChildGroup child = supervise("(trap 'while [ ! -e go ]; do sleep 0.01; done; exit' TERM; touch ready;"
                + " while :; do sleep 0.01; done) & sleep 300");
        child.terminate();
        await().until(() -> child.waitFor(0));
        awaitLooks();
        assertThat(inOrder).isNotDone();
        commands.go();
        assertThat(inOrder()).isTrue();
    }

    @Test
    void failureOfTheSupervisor_killsTheCommand() throws Exception {
        ChildGroup child = supervise(DEAF);
        held.left = () -> {
            throw new OutOfMemoryError("as the test says");
        };
        assertThatThrownBy(this::inOrder)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(OutOfMemoryError.class);
        assertThat(child.isAlive()).isFalse();
        assertThat(child.exitCode()).isEqualTo(KILLED);
    }

    @Test
    void interruptOfTheSupervisor_killsTheCommand() throws Exception {
        ChildGroup child = supervise(DEAF);
        supervisor.interrupt();
        assertThatThrownBy(this::inOrder).hasCauseInstanceOf(InterruptedException.class);
        assertThat(child.isAlive()).isFalse();
        assertThat(child.exitCode()).isEqualTo(KILLED);
    }

    private static LockLost loss() {
        return LockLost.of("stub", 1, "host:1:random:h1", LockLost.Reason.TAKEN);
    }
}
