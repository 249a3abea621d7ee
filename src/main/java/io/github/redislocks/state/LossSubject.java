package io.github.redislocks.state;

/** What was lost. It may be reported again, since an error came on the way, and is told once all the same. */
public interface LossSubject {

    /** Whether this is the first time that it is told; asked by one thread at a time, which then tells. */
    boolean isToldFirst();
}
