/** The benchmarks of redis-locks: what they measure, and how, stands in {@code benchmarks/README.md}. */
package io.github.redislocks.bench;
