package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.fixture.RedisServer;
import io.github.redislocks.state.NameGlob;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Lists of locks beside what is not as usual: keys of others, and odd names. */
@Timeout(60)
@Tag("server")
class LockListFaultTest {

    private final RedisServer server = RedisServer.start();
    private final RedisLocks locks = RedisLocks.connect(server.uri());
    private final Jedis jedis = server.client();

    @AfterEach
    void close() {
        jedis.close();
        locks.close();
        server.close();
    }

    private List<String> names(String pattern) {
        return locks.list(pattern).map(LockSummary::lockName).toList();
    }

    @Test
    void list_besideKeysOfOthers_leavesThemOut() {
        locks.reentrantLock("own").lock();
        jedis.set("redis-locks:{text}", "of another");
        jedis.set("redis-locks:{text}:queue", "of another");
        jedis.hset("redis-locks:{nobody}", Map.of("owner", "nobody"));
        jedis.hset("redis-locks:{no number}", Map.of("owner", "h:1:c:1", "holds", "many", "token", "none"));
        assertThat(names("*")).containsExactly("own");
    }

    @Test
    void inspect_ofAKeyOfAnother_saysSo() {
        jedis.hset("redis-locks:{nobody}", Map.of("owner", "nobody"));
        assertThatThrownBy(() -> locks.inspect("nobody"))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("\"nobody\" is no owner of a lock");
        jedis.set("redis-locks:{text}", "of another");
        assertThatThrownBy(() -> locks.inspect("text"))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("WRONGTYPE");
        jedis.zadd("redis-locks:{place}:queue", 1, "nobody");
        assertThatThrownBy(() -> locks.inspect("place"))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("\"nobody\" is no owner of a lock");
        jedis.zadd("redis-locks:{waits}:conditions", 1, "nobody");
        assertThatThrownBy(() -> locks.inspect("waits"))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("\"nobody\" is no owner of a lock");
    }

    @Test
    void list_withoutTheRightToReadTheLocks_isRefused() {
        locks.reentrantLock("own").lock();
        jedis.aclSetUser("default", "-hmget");
        assertThatThrownBy(() -> names("*")).isInstanceOf(LockUnavailableException.class);
        jedis.aclSetUser("default", "+hmget");
    }

    @Test
    void list_ofNamesThatAreEncoded_isWhatTheGlobMatches() {
        List<String> names = List.of("a%b", "a{b", "a}b", "axb", "a25b", "x{", "x}", "B", "7B", "{", "}", "%", "%7B");
        names.forEach(name -> locks.reentrantLock(name).lock());
        for (String pattern : List.of(
                "*", "a?b", "a[%]b", "a[{]b", "a[^x]b", "a[a-z]b", "*B", "*7B", "?", "[{}]", "\\{", "a\\%b", "*[",
                "%*")) {
            NameGlob glob = new NameGlob(pattern);
            assertThat(names(pattern))
                    .as(pattern)
                    .containsExactlyInAnyOrder(
                            names.stream().filter(glob::matches).toArray(String[]::new));
        }
        assertThat(names("a?b")).containsExactlyInAnyOrder("a%b", "a{b", "a}b", "axb");
        assertThat(names("a[{%]b")).containsExactlyInAnyOrder("a%b", "a{b");
    }

    /** Redis itself says which names its globs match. */
    @Test
    void glob_matchesAsKeysDoes() {
        List<String> texts = List.of(
                "a", "b", "ab", "abc", "a-c", "a]b", "a^b", "^", "-", "]", "[", "\\", "a\\", "*", "a*b", "?", "é",
                "aab", "aaab");
        texts.forEach(text -> jedis.set(text, ""));
        for (String pattern : List.of(
                "a",
                "*",
                "**",
                "?",
                "??",
                "a?",
                "a*b",
                "*b*",
                "[ab]",
                "[^ab]",
                "[a-c]",
                "[c-a]",
                "[a-",
                "[a",
                "[]",
                "[^]",
                "[]a]",
                "[a\\]b]*",
                "[\\]]",
                "[\\",
                "\\",
                "a\\",
                "\\*",
                "\\?",
                "\\a",
                "a[*]b",
                "[-a]",
                "[a-]",
                "[a-]]*",
                "a[^^]*",
                "[[]",
                "[^",
                "é",
                "???",
                "*a*b",
                "a*a*b",
                "[\\a-c]")) {
            NameGlob glob = new NameGlob(pattern);
            Set<String> expected = new TreeSet<>(jedis.keys(pattern));
            Set<String> matched =
                    new TreeSet<>(texts.stream().filter(glob::matches).toList());
            assertThat(matched).as(pattern).isEqualTo(expected);
        }
    }

    @Test
    void list_readByOne_asksForNoMoreThanThePartThatHasIt() {
        IntStream.range(0, 500).forEach(i -> locks.reentrantLock("order:" + i).lock());
        long before = scans();
        assertThat(locks.list("*").iterator().next()).isNotNull();
        assertThat(scans() - before).isLessThan(5);
    }

    private long scans() {
        String line = jedis.info("commandstats")
                .lines()
                .filter(each -> each.startsWith("cmdstat_scan:"))
                .findFirst()
                .orElse("calls=0,");
        return Long.parseLong(line.replaceAll(".*?calls=(\\d+),.*", "$1"));
    }

    @Test
    void list_inParallel_hasEachLockOnce() {
        IntStream.range(0, 3_000).forEach(i -> locks.reentrantLock("order:" + i).lock());
        List<String> all = locks.list("*").parallel().map(LockSummary::lockName).toList();
        assertThat(all).hasSize(3_000).doesNotHaveDuplicates();
    }
}
