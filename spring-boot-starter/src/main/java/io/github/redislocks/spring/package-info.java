/**
 * Spring Boot and Spring: auto-configuration, health, endpoint, {@link io.github.redislocks.spring.Locked}, and locks
 * around transactions; optional. Knows the public types of the library, and the metrics.
 */
@NullMarked
package io.github.redislocks.spring;

import org.jspecify.annotations.NullMarked;
