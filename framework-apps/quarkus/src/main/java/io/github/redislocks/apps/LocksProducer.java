package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import io.quarkus.runtime.Startup;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.time.Duration;
import org.eclipse.microprofile.config.inject.ConfigProperty;

/** The one client of the application, as docs/recipes.md shows it. */
@Singleton
public class LocksProducer {

    @Produces
    @Singleton
    @Startup // connects when the application starts, not when a bean first needs a lock
    RedisLocks locks(@ConfigProperty(name = "shop.redis") String uri) {
        return RedisLocks.connect(uri);
    }

    void close(@Disposes RedisLocks locks) {
        locks.close(Duration.ofSeconds(20)); // lets holders finish
    }
}
