package io.github.redislocks.spring;

import io.github.redislocks.LockOptions;
import io.github.redislocks.Locks;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ClassUtils;

/** The checked annotation {@link Locked} of a method. */
final class LockedMethod {

    private static final SpelExpressionParser PARSER = new SpelExpressionParser();

    final Method method;
    /** How long to wait for each lock; null to wait without a limit. */
    final @Nullable Duration waitFor;
    /** How long each lock stays unavailable, counted from its acquisition; null if it is free when the method ends. */
    final @Nullable Duration atLeast;
    /** The name of the bean that makes the locks; empty if there is only one such bean. */
    final String source;

    final LockOptions options;
    private final Locked locked;
    private final List<List<Expression>> names;
    private final int tokenAt;

    /**
     * Checks the annotation. Throws {@link IllegalStateException} if the annotation cannot work.
     *
     * @param declaration the method that has the annotations
     * @param type the class of the bean
     */
    private LockedMethod(
            Method method, Method declaration, Class<?> type, Locked locked, ConfigurableBeanFactory beans) {
        UnaryOperator<String> resolve = text -> String.valueOf(beans.resolveEmbeddedValue(text));
        this.method = method;
        this.locked = locked;
        int hidden = method.getModifiers() & (Modifier.PRIVATE | Modifier.STATIC | Modifier.FINAL);
        check(
                hidden == 0,
                "is " + Modifier.toString(hidden)
                        + ", and Spring cannot intercept such a method. Make it an ordinary method.");
        checkEndsWithItsWork(type);
        check(locked.value().length > 0, "has no name for the lock. Name what is to be locked, such as order:#{#id}.");
        this.names = Arrays.stream(locked.value()).map(resolve).map(this::name).toList();
        this.source = resolve.apply(locked.locks());
        check(
                source.isEmpty() || (beans.containsBean(source) && mayMakeLocks(beans.getType(source, false))),
                "names the locks \"" + source + "\", and no bean of that name makes locks.");
        this.waitFor = duration("waitFor", resolve.apply(locked.waitFor()), time -> time);
        check(waitFor == null || !waitFor.isNegative(), "has a negative waitFor. Write \"0\" for a free lock only.");
        LockOptions plain = LockOptions.defaults().fair(locked.fair());
        LockOptions leased = duration("lease", resolve.apply(locked.lease()), plain::fixedLease);
        this.options = leased == null ? plain : leased;
        this.atLeast = duration("atLeast", resolve.apply(locked.atLeast()), time -> time);
        check(
                atLeast == null
                        || (!atLeast.isNegative()
                                && atLeast.compareTo(Duration.ofHours(24)) <= 0
                                && isRefusedInTransaction()),
                "has an atLeast of " + locked.atLeast()
                        + ", which must lie between 0 and 24h, and cannot be combined with"
                        + " UNLOCK_AFTER_COMPLETION, since the end of the transaction releases the lock then.");
        check(
                !reads() || !(locked.fair() || leased != null || atLeast != null || !isRefusedInTransaction()),
                "has mode = READ and a setting that is for one owner at a time: fair, lease, atLeast or"
                        + " UNLOCK_AFTER_COMPLETION. Leave that setting out, or the mode.");
        this.tokenAt = tokenAt(declaration);
        check(
                tokenAt < 0 || names.size() == 1,
                "has a @FencingToken and several names. Each lock has a token of its own: take them by Locks.multiLock.");
        if (locked.busy() == Locked.Busy.SKIP) {
            check(
                    waitFor != null,
                    "has busy = SKIP and no waitFor, so that it waits without a limit and never"
                            + " skips. Set a waitFor, such as \"0\" for a free lock only.");
            check(
                    !method.getReturnType().isPrimitive() || method.getReturnType() == void.class,
                    "has busy = SKIP and returns " + method.getReturnType() + ", for which there is no value that says"
                            + " that it did not run. Return an Optional, or an object.");
        }
    }

    /** Returns the checked annotation of a method; null if it has none. */
    static @Nullable LockedMethod of(Method method, Class<?> type, ConfigurableBeanFactory beans) {
        Method declaration = declaration(method, type);
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(declaration, Locked.class);
        return locked == null ? null : new LockedMethod(method, declaration, type, locked, beans);
    }

    /**
     * The method that has the annotations. Usually this is the method itself, for which Spring also finds annotations
     * of the methods that it overrides. The exception is a method that the bean's class inherits from a class which
     * does not implement the interface: then the method of the interface has the annotations.
     */
    private static Method declaration(Method method, Class<?> type) {
        if (AnnotatedElementUtils.hasAnnotation(method, Locked.class)) {
            return method;
        }
        for (Class<?> each : ClassUtils.getAllInterfacesForClassAsSet(type)) {
            Method[] all = each.isAssignableFrom(method.getDeclaringClass()) ? new Method[0] : each.getMethods();
            for (Method same : all) {
                if (same.getName().equals(method.getName())
                        && AnnotatedElementUtils.hasAnnotation(same, Locked.class)
                        && AopUtils.getMostSpecificMethod(same, type).equals(method)) {
                    return same;
                }
            }
        }
        return method;
    }

    /** Whether a bean may make locks. Its type may be a subtype of the declared {@code type}. */
    private static boolean mayMakeLocks(@Nullable Class<?> type) {
        return type == null
                || type.isInterface()
                || Locks.class.isAssignableFrom(type)
                || type.isAssignableFrom(Locks.class);
    }

    private void check(boolean holds, String why) {
        if (!holds) {
            throw new IllegalStateException("@Locked(\"" + String.join("\", \"", locked.value()) + "\") on " + this
                    + " cannot work: it " + why);
        }
    }

    private void checkEndsWithItsWork(Class<?> type) {
        ResolvableType returned = ResolvableType.forMethodReturnType(method, type);
        // An @Async at the bean's class also applies to inherited methods.
        boolean async = AnnotatedElementUtils.hasAnnotation(method, Async.class)
                || AnnotatedElementUtils.hasAnnotation(type, Async.class);
        boolean later = LaterResults.isLater(returned) || KotlinDetector.isSuspendingFunction(method);
        check(
                async || !later,
                "returns " + LaterResults.name(returned) + ", so that it may return before its work has ended,"
                        + " and the lock would be released then. Use FencedLock.callWithHandleAsync(…) in it; or have it do the work,"
                        + " and return the result of it.");
    }

    private List<Expression> name(String text) {
        check(!text.isBlank(), "has no name for the lock. Name what is to be locked, such as order:#{#id}.");
        Expression all;
        try {
            all = PARSER.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
        } catch (ParseException e) {
            throw new IllegalStateException(
                    "@Locked(\"" + text + "\") on " + this + " cannot work: the name is no"
                            + " template of SpEL, such as order:#{#id}. " + e.getMessage(),
                    e);
        }
        List<Expression> parts =
                all instanceof CompositeStringExpression several ? List.of(several.getExpressions()) : List.of(all);
        for (Expression part : parts) {
            check(
                    !(part instanceof LiteralExpression)
                            || part.getExpressionString().indexOf('#') < 0,
                    "has a # outside of #{ } in its name, which would be the same for all values. Write #{#id}.");
            if (part instanceof SpelExpression expression) {
                checkVariables(expression.getAST(), variables());
            }
        }
        return parts;
    }

    /** Checks that all variables in an expression are parameters: any other variable would always be null. */
    private void checkVariables(SpelNode node, Set<String> known) {
        check(
                !(node instanceof VariableReference) || known.contains(node.toStringAST()),
                "names " + node.toStringAST() + ", which is no parameter; known are " + known
                        + ". For parameters by their names compile with -parameters.");
        for (int i = 0; i < node.getChildCount(); i++) {
            checkVariables(node.getChild(i), known);
        }
    }

    private Set<String> variables() {
        Set<String> known = new TreeSet<>(List.of("#root", "#this"));
        String[] named = new DefaultParameterNameDiscoverer().getParameterNames(method);
        for (int i = 0; i < method.getParameterCount(); i++) {
            known.addAll(List.of("#a" + i, "#p" + i, named == null ? "#p" + i : "#" + named[i]));
        }
        return known;
    }

    private <T> @Nullable T duration(String attribute, String text, Function<Duration, T> use) {
        if (text.isBlank()) {
            return null;
        }
        try {
            return use.apply(DurationFormatterUtils.detectAndParse(text));
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@Locked on " + this + " cannot work: its " + attribute + " is \"" + text
                            + "\", which must be a time such as 500ms or 2s. " + e.getMessage(),
                    e);
        }
    }

    private int tokenAt(Method declaration) {
        int at = -1;
        // AnnotatedMethod also finds annotations of parameters in interfaces and superclasses.
        for (MethodParameter parameter : new AnnotatedMethod(declaration).getMethodParameters()) {
            if (parameter.hasParameterAnnotation(FencingToken.class)) {
                Class<?> type = parameter.getParameterType();
                check(
                        type == long.class || type == Long.class,
                        "has a @FencingToken of the type " + type.getSimpleName() + ", and a token is a long.");
                check(at < 0, "has more than one @FencingToken. A hold has one token.");
                at = parameter.getParameterIndex();
            }
        }
        return at;
    }

    /** The names of the locks for one call, each once, in the order in which to take them. */
    List<String> lockNames(EvaluationContext context) {
        return names.stream()
                .map(name -> lockName(name, context))
                .sorted()
                .distinct()
                .toList();
    }

    private String lockName(List<Expression> name, EvaluationContext context) {
        StringBuilder text = new StringBuilder();
        for (Expression part : name) {
            Object value = part.getValue(context);
            if (value == null || isIdentity(value)) {
                throw new IllegalArgumentException("The name in @Locked on " + this + ": #{"
                        + part.getExpressionString() + "} is "
                        + (value == null ? "null" : "a " + value.getClass().getName() + " without a text of its own")
                        + ", so that the name would not say which lock. Name a value that"
                        + " is always there, such as an id; for a parameter by its name compile with -parameters, or write"
                        + " #p0.");
            }
            text.append(value);
        }
        return text.toString();
    }

    private static boolean isIdentity(Object value) {
        return value.toString().equals(value.getClass().getName() + '@' + Integer.toHexString(value.hashCode()));
    }

    boolean isRefusedInTransaction() {
        return locked.inTransaction() == Locked.InTransaction.REFUSE;
    }

    boolean reads() {
        return locked.mode() == Locked.Mode.READ;
    }

    boolean isSkipped() {
        return locked.busy() == Locked.Busy.SKIP;
    }

    /** Returns the result of a method that is skipped. */
    @Nullable
    Object skipped() {
        return method.getReturnType() == Optional.class ? Optional.empty() : null;
    }

    boolean declares(Class<? extends Throwable> type) {
        return Arrays.stream(method.getExceptionTypes()).anyMatch(declared -> declared.isAssignableFrom(type));
    }

    /** Sets the argument that is marked with {@link FencingToken}, if there is one. */
    void giveToken(@Nullable Object[] arguments, long token) {
        if (tokenAt >= 0) {
            arguments[tokenAt] = token;
        }
    }

    @Override
    public String toString() {
        return method.getDeclaringClass().getName()
                + '.'
                + method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
