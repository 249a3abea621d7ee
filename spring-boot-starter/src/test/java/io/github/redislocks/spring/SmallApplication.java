package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import java.util.List;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application that has little on its class path, and says what became of it. */
final class SmallApplication {

    static final String BEANS = "beans: ";

    private SmallApplication() {}

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Config {

        @Bean
        Job job() {
            return new Job();
        }
    }

    static class Job {

        @Locked(value = "job", waitFor = "0")
        public void run() {}
    }

    /** The outcome of a method with a lock, where there is no Redis. */
    private static String run(Job job) {
        try {
            job.run();
            return "ran";
        } catch (RuntimeException | Error e) {
            return e.getClass().getSimpleName();
        }
    }

    public static void main(String[] args) {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Config.class)
                .web(WebApplicationType.NONE)
                .properties("spring.data.redis.port=1", "spring.main.banner-mode=off")
                .run()) {
            List<String> ours = List.of(context.getBeanDefinitionNames()).stream()
                    .filter(name -> name.startsWith("redisLocks"))
                    .toList();
            System.out.println(BEANS
                    + context.getBean(RedisLocks.class)
                    + ' '
                    + String.join(" ", ours)
                    + ' '
                    + run(context.getBean(Job.class)));
        }
    }
}
