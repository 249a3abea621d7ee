/** Child JVMs, which do the tasks of the measuring JVM. */
package io.github.redislocks.bench.crew;
