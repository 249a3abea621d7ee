package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockInspectionTest {

    private static final LockOwner OWNER = LockOwner.parse("host:7:x1y2:42");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "nobody",
                ":",
                ":1",
                "host:7:x1y2:",
                "host:7:x1y2:h",
                "host:7:x1y2:main",
                "a:1234567890123456789"
            })
    void parse_ofWhatIsNoOwner_saysWhatAnOwnerIs(String text) {
        assertThatThrownBy(() -> LockOwner.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"" + text + "\" is no owner of a lock")
                .hasMessageContaining("host:pid:random:thread")
                .hasMessageContaining("keyPrefix");
    }

    @Test
    void parse_ofAThreadOrAHandle_hasItsParts() {
        assertThat(OWNER.host()).isEqualTo("host");
        assertThat(OWNER.pid()).isEqualTo(7);
        assertThat(OWNER.clientId()).isEqualTo("host:7:x1y2");
        assertThat(OWNER.threadId()).hasValue(42);
        assertThat(LockOwner.parse("host:7:x1y2:h42").isHandle()).isTrue();
    }

    @Test
    void pid_ofAClientThatNamesNone_saysSo() {
        assertThatThrownBy(() -> LockOwner.parse("client:1").pid())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"client:1\" names no process");
        assertThat(LockOwner.parse("client:1").host()).isEqualTo("client");
    }

    @Test
    void toString_ofAThreadWhoseNameHasALineBreak_isOneLine() {
        LockOwner odd = OWNER.withThreadName("a\nb\u001b[2J\u202e\u2028c");
        String shown = "(\"a\\u000ab\\u001b[2J\\u202e\\u2028c\")";
        LockInspection.Holder holder = LockInspection.Holder.of(odd, 1, 5, Duration.ofMillis(10));
        LockInspection.Waiter waiter = LockInspection.Waiter.of(odd, Duration.ofMillis(10));
        assertThat(holder.toString()).contains(shown).hasLineCount(1);
        assertThat(waiter.toString()).contains(shown).hasLineCount(1);
        assertThat(odd.threadName()).hasValue("a\nb\u001b[2J\u202e\u2028c");
        assertThat(LockInspection.of("job", Optional.of(holder), Optional.empty(), List.of(waiter), 1, List.of())
                        .toString())
                .hasLineCount(2);
    }
}
