package io.github.redislocks.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a parameter of a {@link Locked} method. The method gets the fencing token of the hold as this argument,
 * whatever the caller passes. The parameter has the type {@code long}. A method that {@linkplain Locked.Mode#READ
 * reads} gets the token of the last writer, which is the version of what the method reads.
 *
 * @since 0.1.0
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.PARAMETER)
public @interface FencingToken {}
