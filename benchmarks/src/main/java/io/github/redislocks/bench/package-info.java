/** The benchmarks of redis-locks: {@code benchmarks/README.md} says what they measure, and how. */
package io.github.redislocks.bench;
