/** What a client knows: its holds, the attempts that want one, and the settings. Knows the transport, and no server. */
@NullMarked
package io.github.redislocks.state;

import org.jspecify.annotations.NullMarked;
