package io.github.redislocks.concurrent;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A sequence of steps, each of which runs even if steps before it have thrown. */
public final class Steps {

    /** Linked with this class, since the heap may be full when the steps run. */
    private static final Consumer<Runnable> RUN = Runnable::run;

    private final List<Runnable> steps;

    public Steps(Runnable... steps) {
        this.steps = List.of(steps);
    }

    /** Runs all steps, and then throws the first exception or error that a step has thrown. */
    public void run() {
        forEach(steps, RUN);
    }

    /** Runs the step for each of the elements, and then throws the first exception or error that it has thrown. */
    public static <T> void forEach(Iterable<? extends T> elements, Consumer<T> step) {
        Throwable first = null;
        for (T element : elements) {
            first = tried(step, element, first);
        }
        rethrow(first);
    }

    /** As {@link #forEach(Iterable, Consumer)}, but without an iterator, since the heap may be full. */
    public static <T> void forEach(List<? extends T> elements, Consumer<T> step) {
        Throwable first = null;
        for (int i = 0; i < elements.size(); i++) {
            first = tried(step, elements.get(i), first);
        }
        rethrow(first);
    }

    private static <T> @Nullable Throwable tried(Consumer<T> step, T element, @Nullable Throwable before) {
        try {
            step.accept(element);
            return before;
        } catch (RuntimeException | Error e) {
            return before == null ? e : before;
        }
    }

    /** Throws {@code met} if it is an unchecked exception or an error; returns otherwise. */
    public static void rethrow(@Nullable Throwable met) {
        if (met instanceof Error error) {
            throw error;
        }
        if (met instanceof RuntimeException exception) {
            throw exception;
        }
    }
}
