/**
 * One client of the library: makes all parts, wires them together and closes them. Answers queries about the locks of
 * the client and of all clients.
 */
@NullMarked
package io.github.redislocks.client;

import org.jspecify.annotations.NullMarked;
