package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whom signals reach. */
@Timeout(60)
class ChildGroupTest {

    /** A command of which a part ignores SIGTERM; the number of that process is in the file {@code part}. */
    private static final String DEAF_PART = "(trap '' TERM; sh -c 'echo $PPID' > part; while :; do sleep 0.01; done) &"
            + " while [ ! -s part ]; do sleep 0.01; done; ";

    @TempDir
    Path folder;

    private Commands commands;

    @BeforeEach
    void start() {
        commands = new Commands(folder);
    }

    @AfterEach
    void stop() {
        commands.close();
    }

    @Test
    void kill_reachesAPartWhoseParentHasEnded() throws Exception {
        ChildGroup child = commands.start("(" + DEAF_PART + ") ; touch ready; sleep 300");
        commands.awaitFile("ready");
        child.kill();
        await().until(() -> !child.isAlive());
        assertThat(commands.isAlive("part")).isFalse();
    }

    @Test
    void kill_withoutAShell_reachesAll() throws Exception {
        commands.start("echo $$ > leader; (" + DEAF_PART + ") ; touch ready; sleep 300");
        commands.awaitFile("ready");
        ProcessGroup group = new ProcessGroup(
                folder.resolve("none"), Long.parseLong(commands.lines("leader").get(0)));
        assertThat(group.isAlive()).isTrue();
        group.kill();
        await().until(() -> !group.isAlive());
        assertThat(commands.isAlive("part")).isFalse();
    }

    /** As in a container whose first process reaps no strangers. */
    @Test
    void group_ofWhichOnlyAZombieIsLeft_hasEnded() throws Exception {
        ChildGroup child = commands.start(
                "(sh -c 'while [ ! -e go ]; do sleep 0.01; done' & echo $! > zombie;"
                        + " exec setsid sh -c 'echo $$ > parent; exec sleep 300') & while [ ! -s parent ]; do sleep 0.01; done");
        await().until(() -> child.waitFor(0));
        long parent = Long.parseLong(commands.lines("parent").get(0));
        try {
            // A shell would ask what its child has ended with.
            await().until(() -> Commands.name(parent).equals("sleep"));
            assertThat(child.isAlive()).isTrue();
            commands.go();
            long zombie = Long.parseLong(commands.lines("zombie").get(0));
            await().until(() -> !Commands.isAlive(zombie));
            assertThat(Commands.state(zombie)).isEqualTo("Z");
            assertThat(child.isAlive()).isFalse();
        } finally {
            ProcessHandle.of(parent).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    /** The first thread of the process ended by itself, so that Linux shows a zombie. */
    @Test
    void group_ofWhichOneHasThreadsThatWork_lives() throws Exception {
        assumeThat(ChildGroup.find("python3"))
                .as("the python3 that ends a thread")
                .isNotNull();
        ChildGroup child = commands.start("""
                exec python3 -c "import ctypes, os, threading, time
                def work():
                    while not os.path.exists('go'): time.sleep(0.01)
                    os._exit(0)
                threading.Thread(target=work).start()
                open('ready', 'w').write(str(os.getpid()))
                ctypes.CDLL(None).pthread_exit(None)\"""");
        commands.awaitFile("ready");
        await().until(() -> commands.lines("ready").size() == 1);
        long works = Long.parseLong(commands.lines("ready").get(0));
        await().until(() -> Commands.state(works).equals("Z"));
        ProcessGroup group = new ProcessGroup(works);
        assertThat(group.isAlive()).isTrue();
        commands.go();
        await().until(() -> !group.isAlive());
        assertThat(child.exitCode()).isZero();
    }

    @Test
    void kill_inTheForeground_reachesThoseWhoWereKnownBefore() throws Exception {
        ChildGroup child =
                commands.start("trap 'exit 0' TERM; " + DEAF_PART + "touch ready; while :; do sleep 0.01; done", true);
        commands.awaitFile("ready");
        child.terminate();
        await().until(() -> child.waitFor(0));
        assertThat(child.isAlive()).isTrue();
        child.kill();
        await().until(() -> !child.isAlive());
        assertThat(commands.isAlive("part")).isFalse();
    }

    @Test
    void terminate_reachesOneThatStandsStill() throws Exception {
        ChildGroup child =
                commands.start("trap 'exit 7' TERM; echo $$ > leader; touch ready; kill -s STOP $$; sleep 300");
        commands.awaitFile("ready");
        long leader = Long.parseLong(commands.lines("leader").get(0));
        await().until(() -> Commands.state(leader).equals("T"));
        child.terminate();
        await().until(() -> child.waitFor(0));
        assertThat(child.exitCode()).isEqualTo(7);
    }

    @Test
    void interrupt_whileASignalIsSent_isKept_andWaitsOn() {
        Interrupted sent = new Interrupted();
        Thread.currentThread().interrupt();
        assertThat(ProcessGroup.awaitExit(sent)).isEqualTo(3);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(sent.waits).isEqualTo(2);
    }

    /** Ends if somebody waits for it undisturbed. */
    private static final class Interrupted extends Process {

        private int waits;

        @Override
        public int waitFor() throws InterruptedException {
            waits++;
            if (Thread.interrupted() && waits < 100) {
                throw new InterruptedException();
            }
            return 3;
        }

        @Override
        public int exitValue() {
            return 3;
        }

        @Override
        public void destroy() {}

        @Override
        public OutputStream getOutputStream() {
            return OutputStream.nullOutputStream();
        }

        @Override
        public InputStream getInputStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public InputStream getErrorStream() {
            return InputStream.nullInputStream();
        }
    }
}
