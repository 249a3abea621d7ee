package io.github.redislocks.spring;

import io.github.redislocks.Locks;
import java.util.concurrent.Callable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;

/** Work under {@link Locked} methods, each of which takes the lock of a name in another way. */
public class LockedWork {

    /** Makes a bean whose methods take these locks. */
    public static LockedWork under(Locks locks) {
        ProxyFactory factory = new ProxyFactory(new LockedWork());
        factory.setProxyTargetClass(true);
        factory.addAdvice(new LockedInterceptor(() -> locks, new DefaultListableBeanFactory()));
        return (LockedWork) factory.getProxy();
    }

    @Locked("#{#name}")
    public Object plain(String name, Callable<?> work) throws Exception {
        return work.call();
    }

    @Locked(value = "#{#name}", waitFor = "9s")
    public Object waiting(String name, Callable<?> work) throws Exception {
        return work.call();
    }

    @Locked(value = "#{#name}", lease = "20s")
    public Object leased(String name, Callable<?> work) throws Exception {
        return work.call();
    }

    @Locked(value = "#{#name}", atLeast = "1ms")
    public Object keeping(String name, Callable<?> work) throws Exception {
        return work.call();
    }
}
