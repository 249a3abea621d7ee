/** A Redis in memory: the real scripts in a small Lua, over a small keyspace, with faults on command. */
@NullMarked
package io.github.redislocks.testkit.twin;

import org.jspecify.annotations.NullMarked;
