/** A registry of locks for Spring Integration. This package uses only public types of the library. */
@NullMarked
package io.github.redislocks.spring.integration;

import org.jspecify.annotations.NullMarked;
