/**
 * What a lock object does: entering, entering again, releasing, Conditions and questions; and the client, which makes
 * all the parts and ends them. The room above all others.
 */
@NullMarked
package io.github.redislocks.engine;

import org.jspecify.annotations.NullMarked;
