package io.github.redislocks.concurrent;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Things that are done one after the other, each of them whatever the ones before it have met. */
public final class Steps {

    private final List<Runnable> steps;

    public Steps(Runnable... steps) {
        this.steps = List.of(steps);
    }

    /** Does all, and then throws what was thrown first. Makes no object, since that may be what cannot be done. */
    public void run() {
        Throwable first = null;
        for (int i = 0; i < steps.size(); i++) {
            try {
                steps.get(i).run();
            } catch (RuntimeException | Error e) {
                first = first == null ? e : first;
            }
        }
        rethrow(first);
    }

    /** Throws an unchecked exception or an error; returns if there is none. */
    public static void rethrow(@Nullable Throwable met) {
        if (met instanceof Error error) {
            throw error;
        }
        if (met instanceof RuntimeException exception) {
            throw exception;
        }
    }
}
