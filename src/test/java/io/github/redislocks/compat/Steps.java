package io.github.redislocks.compat;

import io.github.redislocks.LockOptions;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;

/** A process that does step by step what its arguments say, {@code verb:lock}, and tells when it has done each. */
final class Steps {

    private Steps() {}

    public static void main(String[] args) throws InterruptedException {
        boolean fair = args[1].equals("fair");
        Map<String, RedisReentrantLock> made = new HashMap<>();
        Map<String, Condition> conditions = new HashMap<>();
        try (RedisLocks locks = RedisLocks.connect(args[0])) {
            for (String step : Arrays.asList(args).subList(2, args.length)) {
                String verb = step.substring(0, step.indexOf(':'));
                String name = step.substring(step.indexOf(':') + 1);
                RedisReentrantLock lock = made.computeIfAbsent(
                        name,
                        key -> fair
                                ? locks.reentrantLock(
                                        key, LockOptions.defaults().fair(true))
                                : locks.reentrantLock(key));
                Condition condition = conditions.computeIfAbsent(name, key -> lock.newCondition());
                switch (verb) {
                    case "lock" -> lock.lock();
                    case "unlock" -> lock.unlock();
                    case "await" -> condition.await();
                    case "signal" -> condition.signal();
                    default -> throw new IllegalArgumentException(step);
                }
                System.out.println("done " + step + " holds " + lock.getHoldCount());
            }
        }
    }
}
