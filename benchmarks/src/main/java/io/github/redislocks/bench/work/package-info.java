/** The works: each uses locks in some way and measures it. */
package io.github.redislocks.bench.work;
