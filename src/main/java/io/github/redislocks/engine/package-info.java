/**
 * The operations of a lock object: acquiring, re-entering, releasing, Conditions and queries; and the client, which
 * makes all parts and closes them. It may use all rooms but those that stand on it.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
