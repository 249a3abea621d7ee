/**
 * The operations of a lock object: acquiring, re-entering, releasing, Conditions and queries; and the client, which
 * makes all parts and closes them. The top package: it may use all others.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
