/** The demo of {@code redis-locks demo}: it shows by processes, one of which is killed, what a lock prevents. */
package io.github.redislocks.cli.demo;
