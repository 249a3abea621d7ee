package io.github.redislocks.cli.demo;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The live line of one sale. It shows the state in Redis, several times a second on a terminal and otherwise once a
 * second.
 */
final class Progress implements AutoCloseable {

    private static final long TERMINAL_PERIOD_MILLIS = 100;
    private static final long PLAIN_PERIOD_MILLIS = 1_000;

    private final Screen screen;
    private final Shop shop;
    private final Sale.Plan plan;
    private final Map<Long, String> processNames = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "progress");
        thread.setDaemon(true);
        return thread;
    });

    /** The state at the previous update. After the start, only the timer's thread uses this field and the next. */
    private int lastSold;

    private long lastNanos;

    Progress(Screen screen, Shop shop, Sale.Plan plan) {
        this.screen = screen;
        this.shop = shop;
        this.plan = plan;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // show() throws no exceptions.
    void start() {
        lastNanos = System.nanoTime();
        long periodMillis = screen.isTerminal() ? TERMINAL_PERIOD_MILLIS : PLAIN_PERIOD_MILLIS;
        timer.scheduleAtFixedRate(this::show, periodMillis, periodMillis, TimeUnit.MILLISECONDS);
    }

    /** Sets the name by which a process is shown. */
    void name(long pid, String name) {
        processNames.put(pid, name);
    }

    private void show() {
        try {
            screen.live(view());
        } catch (RuntimeException e) {
            // Catch the exception: the timer would not run a task again that has thrown.
            screen.say(plan.title() + ": no view of Redis: " + e);
        }
    }

    private String view() {
        int sold = shop.sold();
        long nanos = System.nanoTime();
        long perSecond = Math.round((sold - lastSold) * 1e9 / (nanos - lastNanos));
        lastSold = sold;
        lastNanos = nanos;
        if (!plan.locked()) {
            return "%s: sold %d, %d sales/s, stock left %d".formatted(plan.title(), sold, perSecond, shop.stock());
        }
        // The numbers of sales and acquisitions are nearly equal: each acquisition but the last one of each thread
        // sells an item.
        return "%s: sold %d, %d acquisitions/s, %d waiting, held by %s"
                .formatted(plan.title(), sold, perSecond, shop.waiters(), holder());
    }

    private String holder() {
        return shop.holder()
                .map(holder -> "thread " + holder.threadId() + " of "
                        + processNames.getOrDefault(holder.pid(), "pid " + holder.pid()))
                .orElse("nobody");
    }

    /** Ends the live line. Nothing is shown after this method has returned. */
    @Override
    public void close() {
        timer.shutdownNow();
        try {
            timer.awaitTermination(PLAIN_PERIOD_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        screen.clear();
    }
}
