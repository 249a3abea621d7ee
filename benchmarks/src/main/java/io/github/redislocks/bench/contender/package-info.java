/** The locks that are measured, and the floors below them. */
package io.github.redislocks.bench.contender;
