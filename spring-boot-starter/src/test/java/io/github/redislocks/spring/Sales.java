package io.github.redislocks.spring;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.fixture.RedisServers;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** A counter in H2, which loses updates if two transactions read it at once; and what Spring needs for it. */
@Configuration(proxyBeanMethods = false)
@EnableTransactionManagement(proxyTargetClass = true, order = Ordered.HIGHEST_PRECEDENCE)
class Sales {

    /** Reads, thinks, writes; as code does that relies on a lock. */
    record Counter(JdbcTemplate database) {

        void add(int id) {
            int count = count(id);
            Thread.onSpinWait();
            database.update("UPDATE counter SET sold = ? WHERE id = ?", count + 1, id);
        }

        /** Public, for SpEL. */
        public int count(int id) {
            Integer count = database.queryForObject("SELECT sold FROM counter WHERE id = ?", Integer.class, id);
            return count == null ? -1 : count;
        }
    }

    @Bean(destroyMethod = "dispose")
    JdbcConnectionPool dataSource() {
        return JdbcConnectionPool.create("jdbc:h2:mem:" + UUID.randomUUID() + ";LOCK_TIMEOUT=20000", "sa", "");
    }

    @Bean
    Counter counter(DataSource dataSource) {
        JdbcTemplate database = new JdbcTemplate(dataSource);
        database.execute("CREATE TABLE counter (id INT PRIMARY KEY, sold INT NOT NULL)");
        database.update("INSERT INTO counter VALUES (1, 0), (2, 0)");
        return new Counter(database);
    }

    @Bean
    PlatformTransactionManager transactions(DataSource dataSource) {
        return new DataSourceTransactionManager(dataSource);
    }

    @Bean
    RedisLocks locks() {
        return RedisLocks.connect(RedisServers.shared().uri());
    }

    /** Has threads do something many times in all. */
    static void inThreads(int times, Runnable action) throws Exception {
        int threads = 4;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                done.add(pool.submit(() -> {
                    for (int each = 0; each < times / threads; each++) {
                        action.run();
                    }
                }));
            }
            for (Future<?> each : done) {
                each.get(10, TimeUnit.MINUTES);
            }
        } finally {
            pool.shutdownNow();
        }
    }
}
