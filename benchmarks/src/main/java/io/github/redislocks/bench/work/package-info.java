/** What is done with the locks, and what is measured of it. */
package io.github.redislocks.bench.work;
