/** JVMs that work on the word of the one that measures. */
package io.github.redislocks.bench.crew;
