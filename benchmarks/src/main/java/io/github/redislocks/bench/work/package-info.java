/** The works: each does something with locks and measures that. */
package io.github.redislocks.bench.work;
