package io.github.redislocks.bench.crew;

import java.io.Serializable;

/** The failure of a task as text, since not every throwable can be sent. */
record Failure(String cause) implements Serializable {

    /** Keeps the first cause. The child's standard error has the rest. */
    static Failure of(Throwable e) {
        e.printStackTrace();
        Throwable cause = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return new Failure(cause.toString());
    }
}
