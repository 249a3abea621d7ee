package io.github.redislocks.simulation;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * The scheduler of the virtual threads of one client. A {@code ForkJoinPool}, since JDK 25 has such a pool also keep
 * the timers of threads that park for a time; but it never starts a thread.
 */
final class ClientPool extends ForkJoinPool {

    private final int client;
    private World world;

    ClientPool(int client) {
        super(1);
        this.client = client;
    }

    void isOf(World next) {
        world = next;
    }

    @Override
    public void execute(Runnable run) {
        world.submit(client, run, run);
    }

    @Override
    public <T> ForkJoinTask<T> externalSubmit(ForkJoinTask<T> task) {
        world.submit(client, Jdk.continuation(task), task::quietlyInvoke);
        return task;
    }

    @Override
    public <T> ForkJoinTask<T> lazySubmit(ForkJoinTask<T> task) {
        return externalSubmit(task);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable run, long delay, TimeUnit unit) {
        return world.timer(client, run, unit.toNanos(delay));
    }
}
