package io.github.redislocks.concurrent;

import java.util.function.BiConsumer;

/** Calls code that must not stop its caller, such as a listener of the user, and logs what that code throws. */
public final class UserCode {

    private UserCode() {}

    /**
     * Calls the code. It takes its argument apart from the callee, so that the caller need not allocate a lambda.
     *
     * @param callee what is called, named in the log
     * @param argument what the call is about, named in the log
     * @return whether the code returned
     */
    public static <T, A> boolean call(T callee, A argument, BiConsumer<? super T, ? super A> code) {
        try {
            code.accept(callee, argument);
            return true;
        } catch (Throwable e) {
            String name =
                    callee instanceof String text ? text : callee.getClass().getName();
            Loggers.LOSS.error("{} failed for {}", name, argument, e);
            return false;
        }
    }
}
