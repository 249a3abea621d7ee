package io.github.redislocks.testkit.twin;

import io.github.redislocks.redis.Call;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The faults that are planned for the calls of one client. */
final class Faults {

    private final List<Rule> rules = new CopyOnWriteArrayList<>();
    private final List<HeldCalls> held = new CopyOnWriteArrayList<>();
    private volatile boolean down;

    private record Rule(Predicate<Call> which, Fault fault, AtomicInteger left) {}

    void down(boolean value) {
        down = value;
    }

    boolean isDown() {
        return down;
    }

    void failNext(int count, Predicate<Call> which, Fault fault) {
        rules.removeIf(rule -> rule.left.get() <= 0);
        rules.add(new Rule(which, fault, new AtomicInteger(count)));
    }

    HeldCalls hold(Predicate<Call> which) {
        HeldCalls calls = new HeldCalls(which);
        held.add(calls);
        return calls;
    }

    void heal() {
        down = false;
        rules.clear();
        held.forEach(HeldCalls::release);
        held.clear();
    }

    /** Parks the caller while the call is held. Returns false if the call's timeout ended meanwhile. */
    boolean pass(Call call, long timeoutNanos) {
        if (held.isEmpty()) {
            return true;
        }
        long deadline = System.nanoTime() + timeoutNanos;
        for (HeldCalls calls : held) {
            if (calls.holds(call) && !calls.pass(call, deadline - System.nanoTime())) {
                return false;
            }
        }
        return true;
    }

    /** Takes the fault that is planned for this call; null if there is none. */
    @Nullable
    Fault next(Call call) {
        if (down) {
            return Fault.REFUSED_CONNECTION;
        }
        for (Rule rule : rules) {
            if (rule.which.test(call) && rule.left.getAndDecrement() > 0) {
                return rule.fault;
            }
        }
        return null;
    }
}
