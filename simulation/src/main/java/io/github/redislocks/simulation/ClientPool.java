package io.github.redislocks.simulation;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * The scheduler of one client's virtual threads. It is a {@code ForkJoinPool}, since JDK 25 needs such a pool for the
 * timers of threads that park with a time limit. It never starts a thread.
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
