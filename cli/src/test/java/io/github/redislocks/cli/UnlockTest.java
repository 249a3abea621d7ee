package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockHandle;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.OwnServer;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** Which hold is ended, and which is not. */
@Timeout(60)
class UnlockTest {

    private static OwnServer server;
    private static RedisLocks locks;

    @BeforeAll
    static void start() {
        server = OwnServer.start();
        locks = RedisLocks.connect(server.uri());
    }

    @AfterAll
    static void stop() {
        locks.close();
        server.close();
    }

    @Test
    void unlock_ofALockThatAnotherGotMeanwhile_leavesItAlone() throws Exception {
        try (LockHandle seen = locks.reentrantLock("changing").acquire()) {
            List<LockHandle> next = new ArrayList<>();
            UnlockCommand unlock = new UnlockCommand() {
                @Override
                boolean confirmed(String question) {
                    assertThat(question).contains(Long.toString(seen.fencingToken()));
                    seen.release();
                    next.add(locks.reentrantLock("changing").acquireAsync().join());
                    return true;
                }
            };
            StringWriter out = new StringWriter();
            CommandLine line = new CommandLine(unlock).setOut(new PrintWriter(out));
            assertThat(line.execute("--url=" + server.uri(), "--force", "changing"))
                    .isZero();
            assertThat(out.toString())
                    .contains("Nothing was changed: meanwhile")
                    .contains(next.get(0).owner());
            assertThat(locks.reentrantLock("changing").isLocked()).isTrue();
            assertThat(next.get(0).release()).isTrue();
        }
    }

    @Test
    void unlock_ofAHeldLock_needsForceAndYes() throws Exception {
        try (LockHandle held = locks.reentrantLock("forced").acquire()) {
            assertThat(Cli.run(server.uri(), "unlock", "forced").exitCode()).isEqualTo(2);
            Cli unasked = Cli.run(server.uri(), "unlock", "--force", "forced");
            assertThat(unasked.exitCode()).as(unasked.err()).isEqualTo(2);
            assertThat(unasked.err()).contains("add --yes");
            assertThat(locks.reentrantLock("forced").isLocked()).isTrue();
            Cli forced = Cli.run(server.uri(), "unlock", "--force", "--yes", "forced");
            assertThat(forced.exitCode()).isZero();
            assertThat(forced.out()).contains("Ended").contains(held.owner());
            assertThat(locks.reentrantLock("forced").isLocked()).isFalse();
            assertThat(held.release()).isFalse();
        }
        assertThat(Cli.run(server.uri(), "unlock", "--force", "--yes", "forced").out())
                .isEqualTo("Nobody holds \"forced\".\n");
    }

    /** A name with control characters could clear the terminal, or make the question look as if about another lock. */
    @Test
    void name_thatControlsATerminal_isAskedAndToldAsPlainText() throws Exception {
        String odd = "odd\u001b[2J\nfree";
        StringWriter told = new StringWriter();
        PrintWriter out = new PrintWriter(told);
        UnlockCommand unlock = new UnlockCommand() {
            @Override
            boolean confirmed(String question) {
                told.append(question);
                return true;
            }
        };
        LockHandle held = locks.reentrantLock(odd).acquire();
        told.append(Cli.run(server.uri(), "run", "--if-busy=fail", odd, "--", "true")
                .err());
        WaitingLine line = new WaitingLine(locks, odd, new Needed.OfLock(locks, odd, locks.reentrantLock(odd)), out);
        await().until(() -> told.toString().contains("waiting for"));
        line.close();
        assertThat(new CommandLine(unlock).setOut(out).execute("--url=" + server.uri(), "--force", odd))
                .isZero();
        assertThat(held.release()).isFalse();
        told.append(Cli.run(server.uri(), "unlock", "--force", "--yes", odd).out());
        assertThat(told.toString())
                .doesNotContain("\u001b", "\nfree")
                .contains("odd\\u001b[2J\\u000afree\" is busy", "End that?", "Ended:", "Nobody holds");
    }
}
