package io.github.redislocks.concurrent;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;

/** Distinguishes virtual threads from platform threads, even on a JDK without virtual threads. */
public final class VirtualThreads {

    /** {@code Thread.isVirtual}; null on a JDK before 21. */
    private static final @Nullable Method IS_VIRTUAL = ThreadIds.methodOfThreads("isVirtual");

    private VirtualThreads() {}

    public static boolean isVirtual(Thread thread) {
        return IS_VIRTUAL != null && (boolean) ThreadIds.call(IS_VIRTUAL, thread);
    }
}
