package io.github.redislocks.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockKeysTest {

    @Test
    void of_name_givesKeysOfOneHashTag() {
        assertThat(LockKeys.of("p", "item").all())
                .containsExactly(
                        "p:{item}",
                        "p:{item}:queue",
                        "p:{item}:waiters",
                        "p:{item}:fence",
                        "p:{item}:conditions",
                        "p:{item}:shares");
        assertThat(LockKeys.of("p", "item").lock()).isEqualTo("p:{item}");
        assertThat(LockKeys.of("p", "item").fence()).isEqualTo("p:{item}:fence");
        assertThat(LockKeys.mailbox("p", "host:1:x")).isEqualTo("p:mailbox:host:1:x");
    }

    @Test
    void ofPermits_areKeysOfTheSameSlot_andKeepTheName() {
        LockKeys pool = LockKeys.ofPermits("p", "a}b");
        assertThat(pool.lock()).isEqualTo("p:{a%7Db}:permits");
        assertThat(pool.queue()).isEqualTo("p:{a%7Db}:permits:queue");
        assertThat(pool.name()).isEqualTo("a}b");
        assertThat(pool.arePermits()).isTrue();
        assertThat(LockKeys.of("p", "a:permits").arePermits()).isFalse();
    }

    @Test
    void of_namesThatImitateEachOther_neverCollide() {
        Map<String, String> owners = new HashMap<>();
        List<String> names = List.of(
                "a",
                "a}",
                "a}:x",
                "a:queue",
                "a}:queue",
                "{a}",
                "{a",
                "%7D",
                "a%7D:queue",
                "%",
                "%25",
                "mailbox:x",
                " ");
        for (String name : names) {
            for (String key : LockKeys.of("p", name).all()) {
                assertThat(owners.put(key, name)).as("%s of %s", key, name).isNull();
                assertThat(key.indexOf('}')).isEqualTo(key.lastIndexOf('}'));
                assertThat(key.indexOf('{')).isEqualTo(key.lastIndexOf('{')).isEqualTo(2);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"with space", "emoji \uD83D\uDD12", "{braces}", "line\nbreak", "\0", "日本"})
    void of_anyWellFormedText_isAccepted(String name) {
        assertThat(LockKeys.of("p", name).name()).isEqualTo(name);
    }

    @Test
    void of_upTo4096Bytes_isAccepted() {
        assertThat(LockKeys.of("p", "é".repeat(2048)).name()).hasSize(2048);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockKeys.of("p", "é".repeat(2048) + "x"))
                .withMessageContaining("4097")
                .withMessageContaining("4096")
                .withMessageContaining("digest");
    }

    @Test
    void of_namesThatCannotWork_saysWhy() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockKeys.of("p", ""))
                .withMessageContaining("empty");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockKeys.of("p", "half \uD83D"))
                .withMessageContaining("surrogate");
        assertThatNullPointerException().isThrownBy(() -> LockKeys.of("p", null));
    }

    @ParameterizedTest
    @ValueSource(strings = {"not-empty", "with space", "tab\tline\nreturn\r\f\u000B\0", "{100%} %20", "=", "#1", "日本"})
    void condition_ofAnyName_isOneWordAndCanBeRead(String name) {
        assertThat(LockKeys.condition(name)).doesNotContainAnyWhitespaces().doesNotContain("\0");
        assertThat(LockKeys.conditionName(LockKeys.condition(name))).isEqualTo(name);
    }

    @Test
    void conditionName_ofANumber_isTheNumber() {
        assertThat(LockKeys.conditionName("#2")).isEqualTo("#2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "\\x", "é", "%", "*", "x?", "[a]"})
    void matching_ofALongPattern_needsNoStack(String unit) {
        String pattern = unit.repeat(100_000);
        assertThat(LockKeys.matching("p", pattern)).startsWith("p:{");
    }
}
