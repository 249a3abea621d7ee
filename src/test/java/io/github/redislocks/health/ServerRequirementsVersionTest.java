package io.github.redislocks.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Reply;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests which versions of a server are refused, without their binaries. */
class ServerRequirementsVersionTest {

    @ParameterizedTest
    @CsvSource({
        "5.0.14, false",
        "6.0.20, false",
        "6.2.0, true",
        "7.0.15, true",
        "10.1.0, true",
        "'', true",
        "ours, true"
    })
    void version_isRefusedBelow62(String version, boolean works) {
        Reply answer = new Reply("CHECKED", List.of(version, "master", "", "noeviction", "", "", "", "0", "-1", 1L));
        String objection = new ServerRequirements("10.0.0.1:6379", answer).objection();
        if (works) {
            assertThat(objection).isNull();
        } else {
            assertThat(objection).contains("10.0.0.1:6379", version, "6.2 or later");
        }
    }
}
