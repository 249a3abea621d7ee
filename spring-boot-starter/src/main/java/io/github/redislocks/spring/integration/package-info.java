/** Spring Integration: a registry of locks; optional. Knows the public types of the library, and nothing else of it. */
@NullMarked
package io.github.redislocks.spring.integration;

import org.jspecify.annotations.NullMarked;
