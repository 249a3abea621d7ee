package io.github.redislocks.apps;

import io.github.redislocks.RedisLocks;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Value;
import io.micronaut.context.event.BeanPreDestroyEvent;
import io.micronaut.context.event.BeanPreDestroyEventListener;
import java.time.Duration;

/** The one client of the application, as docs/recipes.md shows it. */
@Factory
class LocksFactory implements BeanPreDestroyEventListener<RedisLocks> {

    @Context // one, which connects when the application starts
    RedisLocks locks(@Value("${shop.redis}") String uri) {
        return RedisLocks.connect(uri);
    }

    @Override
    public RedisLocks onPreDestroy(BeanPreDestroyEvent<RedisLocks> event) {
        RedisLocks locks = event.getBean();
        locks.close(Duration.ofSeconds(20)); // lets holders finish
        return locks;
    }
}
