/**
 * A client of the library. The room makes all parts of the client, wires them together and closes them, and answers
 * queries about the locks of this client and of all clients.
 */
@NullMarked
package io.github.redislocks.client;

import org.jspecify.annotations.NullMarked;
