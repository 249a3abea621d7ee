package io.github.redislocks.multijvm;

import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A process that says that it waits for a lock, then that it has it, and then holds it until it is killed. */
final class Holder {

    private Holder() {}

    public static void main(String[] args) {
        RedisLocks locks = RedisLocks.builder()
                .uri(args[0])
                .lease(Duration.ofMillis(Long.parseLong(args[2])))
                .build();
        RedisReentrantLock lock = locks.reentrantLock(args[1]);
        System.out.println("waiting");
        lock.lock();
        System.out.println("locked " + lock.fencingToken());
        while (true) {
            LockSupport.park();
        }
    }
}
