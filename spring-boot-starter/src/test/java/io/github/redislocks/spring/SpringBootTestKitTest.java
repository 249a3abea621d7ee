package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.testkit.InMemoryLocks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The test kit in a test of an application, as docs/spring.md shows it. */
@Timeout(60)
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.NONE, properties = "spring.main.banner-mode=off")
class SpringBootTestKitTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {
        @Bean
        Checkout checkout() {
            return new Checkout();
        }
    }

    @TestConfiguration
    static class Memory {
        @Bean
        InMemoryLocks memory() {
            return InMemoryLocks.start();
        }

        @Bean(destroyMethod = "") // The test kit closes its clients.
        RedisLocks locks(InMemoryLocks memory) {
            return memory.client();
        }
    }

    static class Checkout {
        @Locked(value = "order:#{#p0}", waitFor = "0")
        public long pay(long order) {
            return order;
        }
    }

    @Autowired
    private Checkout checkout;

    @Autowired
    private InMemoryLocks memory;

    @Test
    void pay_whileAnotherInstancePays_isRefused() {
        memory.newClient().reentrantLock("order:1").lock();
        assertThatThrownBy(() -> checkout.pay(1)).isInstanceOf(LockBusyException.class);
        assertThat(checkout.pay(2)).isEqualTo(2);
    }
}
