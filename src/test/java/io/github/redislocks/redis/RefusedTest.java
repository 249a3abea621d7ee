package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.RedisException.Refused;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The meaning of error texts, in the form of each version of Redis. */
class RefusedTest {

    private static final String WITHIN =
            "ERR Error running script (call to f_f518810f90e1a12e3ae6de85f7f48f70cc1cd1e3): @user_script:1: ";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "LOADING Redis is loading the dataset in memory",
                "OOM command not allowed when used memory > 'maxmemory'.",
                "BUSY Redis is busy running a script.",
                "READONLY You can't write against a read only replica.",
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
                "CLUSTERDOWN The cluster is down",
                "TRYAGAIN Multiple keys request during rehashing of slot",
                "NOREPLICAS Not enough good replicas to write.",
                "MISCONF Redis is configured to save RDB snapshots",
                "UNBLOCKED force unblock from blocking operation",
                "ERR max number of clients reached"
            })
    void passing_temporaryErrors_inAnyVersion(String text) {
        assertThat(new Refused(text, null).passing()).isTrue();
        assertThat(new Refused("@user_script: 12: -" + text, null).passing()).isTrue();
        assertThat(new Refused(WITHIN + "@user_script: 1: -" + text + " (host:6379, acquire)", null).passing())
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "WRONGTYPE Operation against a key holding the wrong kind of value",
                "ERR unknown command 'evalsha'",
                "NOPERM this user has no permissions to run the 'hset' command",
                "@user_script: 1: The user executing the script can't run this command or subcommand",
                "ERR the word OOM is not its beginning"
            })
    void passing_ofAnythingElse_isFalse(String text) {
        assertThat(new Refused(text, null).passing()).isFalse();
        assertThat(new Refused(WITHIN + "@user_script: 1: -" + text, null).passing())
                .isFalse();
    }

    @Test
    void says_matchesTheStartOfTheReason() {
        Refused refused = new Refused(WITHIN + "@user_script: 1: -READONLY You can't", null);
        assertThat(refused.says("READONLY")).isTrue();
        assertThat(refused.says("You")).isFalse();
        assertThat(refused.says("ERR")).isFalse();
    }
}
