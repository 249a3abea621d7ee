package check;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.spring.Locked;
import io.github.redislocks.testkit.InMemoryLocks;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

class BootTest {

    @SpringBootApplication
    static class App {

        @Bean
        InMemoryLocks memory() {
            return InMemoryLocks.start();
        }

        @Bean
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }

        @Bean
        Shop shop(RedisLocks locks) {
            return new Shop(locks);
        }
    }

    static class Shop {

        private final RedisLocks locks;

        Shop(RedisLocks locks) {
            this.locks = locks;
        }

        @Locked("stock")
        boolean isLocked() {
            return locks.reentrantLock("stock").isHeldByCurrentThread();
        }
    }

    @Test
    void method_thatIsLocked_runsUnderItsLock() {
        try (ConfigurableApplicationContext app = SpringApplication.run(App.class)) {
            assertTrue(app.getBean(Shop.class).isLocked());
        }
    }
}
