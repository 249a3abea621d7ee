package io.github.redislocks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Waiting for threads to end. */
final class Threads {

    private Threads() {}

    /** Waits for threads to end, for a time; an interrupt ends the wait and is kept. */
    static void join(List<Thread> threads, @Nullable Thread one, Duration patience) {
        List<Thread> all = new ArrayList<>(threads);
        if (one != null) {
            all.add(one);
        }
        try {
            for (Thread thread : all) {
                if (thread != Thread.currentThread()) {
                    thread.join(patience.toMillis());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
