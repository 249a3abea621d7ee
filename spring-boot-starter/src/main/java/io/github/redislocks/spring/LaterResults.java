package io.github.redislocks.spring;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;

/** The types of results that a method may return before its work has ended. */
final class LaterResults {

    /** The types that are always on the class path. */
    private static final List<Class<?>> TYPES =
            List.of(Future.class, CompletionStage.class, Flow.Publisher.class, Callable.class, BaseStream.class);

    /** The types that are not on every class path. */
    private static final Set<String> NAMES = Set.of(
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody",
            "kotlin.sequences.Sequence",
            "kotlinx.coroutines.Job",
            "kotlinx.coroutines.flow.Flow");

    /** A type whose body may have one of these types. */
    private static final String ENTITY = "org.springframework.http.HttpEntity";

    private static final ClassValue<Boolean> OF_CLASS = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return isLaterClass(type);
        }
    };

    private LaterResults() {}

    /** Whether a method with this result type may return before its work has ended, or has even begun. */
    static boolean isLater(ResolvableType type) {
        Class<?> raw = type.toClass();
        if (raw == Optional.class || isOne(raw, Set.of(ENTITY))) {
            return Arrays.stream(type.getGenerics()).anyMatch(LaterResults::isLater);
        }
        return isLater(raw);
    }

    /** Whether work may still go on, or begin, after a result of this class was returned. */
    static boolean isLater(Class<?> type) {
        return OF_CLASS.get(type);
    }

    private static boolean isLaterClass(Class<?> raw) {
        return TYPES.stream().anyMatch(each -> each.isAssignableFrom(raw))
                || isOne(raw, NAMES)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(raw) != null;
    }

    private static boolean isOne(@Nullable Class<?> type, Set<String> names) {
        return type != null
                && (names.contains(type.getName())
                        || isOne(type.getSuperclass(), names)
                        || Arrays.stream(type.getInterfaces()).anyMatch(each -> isOne(each, names)));
    }

    /** The name of a type as in source code, without packages. */
    static String name(ResolvableType type) {
        String of = Arrays.stream(type.getGenerics()).map(LaterResults::name).collect(Collectors.joining(", "));
        return type.toClass().getSimpleName() + (of.isEmpty() ? "" : "<" + of + ">");
    }
}
