package io.github.redislocks.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.Locks;
import io.github.redislocks.RedisLocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The objects that the extension gives to tests, and their end. */
class InMemoryLocksExtensionTest {

    @Nested
    @ExtendWith(InMemoryLocksExtension.class)
    class OfEachTest {

        private static final List<RedisLocks> SEEN = new ArrayList<>();

        private InMemoryLocks prepared;

        @BeforeEach
        void prepare(InMemoryLocks memory) {
            prepared = memory;
        }

        @AfterAll
        static void allAreClosedAndDiffer() {
            assertThat(SEEN).hasSize(2).doesNotHaveDuplicates().allMatch(RedisLocks::isClosed);
        }

        @Test
        void parameters_areOfOneInMemoryLocks(InMemoryLocks memory, RedisLocks redisLocks, Locks locks) {
            assertThat(memory).isSameAs(prepared);
            assertThat(redisLocks).isSameAs(locks).isSameAs(memory.client());
            SEEN.add(redisLocks);
        }

        @Test
        void parameters_ofAnotherTest_areOthers(RedisLocks locks) {
            assertThat(SEEN).doesNotContain(locks);
            SEEN.add(locks);
        }
    }

    @Nested
    @ExtendWith(InMemoryLocksExtension.class)
    class OfAClass {

        private static RedisLocks shared;

        @BeforeAll
        static void prepare(RedisLocks locks) {
            shared = locks;
        }

        @Test
        void parameter_withAClassWideExtension_isTheSharedMemory(InMemoryLocks memory) {
            assertThat(memory.client()).isSameAs(shared);
        }

        @Test
        void parameter_afterAnotherTest_isOpen(RedisLocks locks) {
            assertThat(locks.isClosed()).isFalse();
        }
    }

    @Nested
    class WithSettings {

        @RegisterExtension
        private final InMemoryLocksExtension redis =
                new InMemoryLocksExtension(builder -> builder.lease(Duration.ofSeconds(5)));

        @Test
        void settings_areThoseOfTheClient(InMemoryLocks memory, RedisLocks locks) {
            memory.stopClock();
            locks.reentrantLock("job").lock();
            assertThat(locks.reentrantLock("job").remainingLease())
                    .isBetween(Duration.ofSeconds(4), Duration.ofSeconds(5));
        }
    }
}
