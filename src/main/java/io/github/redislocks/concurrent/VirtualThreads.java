package io.github.redislocks.concurrent;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Distinguishes virtual threads from platform threads, even on a JDK without virtual threads. */
public final class VirtualThreads {

    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private VirtualThreads() {}

    /** {@code Thread.isVirtual} where it exists (JDK 21), else a constant false. */
    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.lookup().findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException e) {
            return MethodHandles.dropArguments(MethodHandles.constant(boolean.class, false), 0, Thread.class);
        }
    }

    public static boolean isVirtual(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
