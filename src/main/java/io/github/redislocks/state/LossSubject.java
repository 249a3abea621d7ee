package io.github.redislocks.state;

/**
 * The subject of a loss report. After an error the same loss may be reported again; listeners are told of it only once.
 */
public interface LossSubject {

    /** Returns true the first time, to the thread that then tells the listeners; called by one thread at a time. */
    boolean isToldFirst();
}
