/**
 * The torture suite: JVMs that hammer a few locks while a nemesis harms them, the network and the server, and a checker
 * that reads what they logged.
 */
@NullMarked
package io.github.redislocks.torture;

import org.jspecify.annotations.NullMarked;
