/**
 * What is asked of Redis, and how it is read: a method for each script, and the scripts, in Lua, in the folder
 * {@code lua} of the resources. Knows what a client knows, and how to send.
 */
@NullMarked
package io.github.redislocks.script;

import org.jspecify.annotations.NullMarked;
