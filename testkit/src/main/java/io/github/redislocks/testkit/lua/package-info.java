/**
 * A small Lua 5.1, as much of it as scripts for Redis use. A value is {@code Nil}, a {@code Boolean}, a {@code Double},
 * a {@code String} with one char for each byte, a {@code LuaTable} or a {@code LuaFunction}.
 */
@NullMarked
package io.github.redislocks.testkit.lua;

import org.jspecify.annotations.NullMarked;
