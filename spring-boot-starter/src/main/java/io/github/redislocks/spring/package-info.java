/**
 * Locks for Spring and Spring Boot: auto-configuration, a health indicator, an endpoint of the Actuator,
 * {@link io.github.redislocks.spring.Locked}, and locks around transactions. This package uses only public types of the
 * library and its metrics.
 */
@NullMarked
package io.github.redislocks.spring;

import org.jspecify.annotations.NullMarked;
