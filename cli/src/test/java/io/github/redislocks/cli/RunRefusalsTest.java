package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.LockLost;
import io.github.redislocks.LockLostException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What {@code run} refuses before it asks Redis, so that no command runs. */
class RunRefusalsTest {

    private static final String AWAY = "redis://127.0.0.1:1";

    /** Else it would be taken from the command, which would do something else. */
    @Test
    void optionOfRun_amongTheWordsOfTheCommand_isRefused() {
        for (String[] words : new String[][] {{"rm", "-v", "x"}, {"grep", "-q"}, {"make", "--wait", "30s"}}) {
            List<String> line = new ArrayList<>(List.of("run", "x"));
            line.addAll(List.of(words));
            Cli refused = Cli.run(AWAY, line.toArray(String[]::new));
            assertThat(refused.exitCode()).isEqualTo(2);
            assertThat(refused.err()).contains("put -- before that command");
        }
    }

    @Test
    void atLeast_thatCannotBeKept_isRefusedBeforeTheCommandRuns(@TempDir Path folder) {
        String[] touch = {"touch", folder.resolve("ran").toString()};
        Cli tooLong = Cli.run(AWAY, "run", "--at-least=25h", "x", "--", touch[0], touch[1]);
        assertThat(tooLong.exitCode()).isEqualTo(2);
        assertThat(tooLong.err()).contains("24h");
        Cli quorum = Cli.run(AWAY, "run", "--url=redis://127.0.0.1:1", "--at-least=5s", "x", "--", touch[0], touch[1]);
        assertThat(quorum.exitCode()).isEqualTo(2);
        assertThat(quorum.err()).contains("a quorum does not support it");
        assertThat(folder).isEmptyDirectory();
    }

    /** As Java reads what is not in the encoding of its locale: two names would become one. */
    @Test
    void characterThatJavaCouldNotRead_isRefused() {
        for (String[] words : new String[][] {
            {"run", "b\ufffdro", "--", "true"},
            {"run", "x", "--", "echo", "z\ufffd"},
            {"unlock", "--force", "--yes", "b\ufffdro"},
            {"list", "--url=redis://:secret\ufffd@localhost", "b\ufffd*"}
        }) {
            Cli refused = Cli.run(AWAY, words);
            assertThat(refused.exitCode()).isEqualTo(2);
            assertThat(refused.err())
                    .contains("could not read", "LC_ALL=C.UTF-8")
                    .doesNotContain("secret");
        }
    }

    @Test
    void loss_beforeTheCommandWasStarted_isALoss() {
        StringWriter err = new StringWriter();
        CommandLine line = RedisLocksCommand.commandLine().setErr(new PrintWriter(err));
        LockLost loss = LockLost.of("job", 1, "host:1:random:h1", LockLost.Reason.EXPIRED);
        assertThat(RedisLocksCommand.failed(new LockLostException(loss), line)).isEqualTo(76);
        assertThat(err.toString()).contains("\"job\"").doesNotContain("\tat ");
    }
}
