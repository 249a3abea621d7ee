package io.github.redislocks.bench.crew;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** Some children that work together. */
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

    /** Has all of them do the same, at the same time. */
    public <R extends Serializable> List<R> call(Task<R> task) {
        return call(children.stream().map(child -> task).toList());
    }

    /** Has each of them do something of its own, at the same time. */
    public <R extends Serializable> List<R> call(List<? extends Task<R>> tasks) {
        for (int i = 0; i < children.size(); i++) {
            children.get(i).begin(tasks.get(i));
        }
        List<R> answers = new ArrayList<>();
        for (int i = 0; i < children.size(); i++) {
            answers.add(children.get(i).end(tasks.get(i)));
        }
        return answers;
    }

    /** So that nobody pays for what another left behind. */
    public void collectGarbage() {
        call(worker -> {
            System.gc();
            return 0;
        });
    }

    /** Times are compared between JVMs: Linux has one such clock for all, and others may not. */
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
