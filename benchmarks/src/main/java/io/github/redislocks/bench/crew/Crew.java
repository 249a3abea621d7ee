package io.github.redislocks.bench.crew;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** Several child JVMs that work together. */
public final class Crew implements AutoCloseable {

    private final List<Child> children = new ArrayList<>();

    public Crew(int size, List<String> jvmArguments) {
        try {
            for (int i = 0; i < size; i++) {
                children.add(Child.start(jvmArguments));
            }
            checkClock();
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    public List<Child> children() {
        return children;
    }

    /** Makes all children do the same task at the same time. */
    public <R extends Serializable> List<R> call(Task<R> task) {
        return call(children.stream().map(child -> task).toList());
    }

    /** Makes each child do its own task, all at the same time. */
    public <R extends Serializable> List<R> call(List<? extends Task<R>> tasks) {
        for (int i = 0; i < children.size(); i++) {
            children.get(i).begin(tasks.get(i));
        }
        List<R> answers = new ArrayList<>();
        RuntimeException failure = null;
        for (int i = 0; i < children.size(); i++) {
            try {
                answers.add(children.get(i).end(tasks.get(i)));
            } catch (RuntimeException e) {
                // Hear the others before the failure is thrown: an answer that nobody hears would be taken for the
                // next.
                failure = e;
            }
        }
        if (failure != null) {
            throw failure;
        }
        return answers;
    }

    /** Collects the garbage in all children, so that no contender pays for the garbage of another. */
    public void collectGarbage() {
        call(worker -> {
            System.gc();
            return 0;
        });
    }

    /**
     * Checks that all JVMs have the same clock, since their times are compared. Linux has such a clock; other systems
     * may not.
     */
    private void checkClock() {
        for (Child child : children) {
            long before = System.nanoTime();
            long there = child.call(worker -> System.nanoTime());
            long after = System.nanoTime();
            if (there < before || there > after) {
                throw new IllegalStateException("System.nanoTime() is not one clock for all JVMs on this system");
            }
        }
    }

    @Override
    public void close() {
        children.forEach(Child::close);
    }
}
