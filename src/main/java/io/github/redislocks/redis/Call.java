package io.github.redislocks.redis;

import java.util.List;

/** One run of one script: the keys that it touches, all of them, and its arguments. */
public record Call(Script script, List<String> keys, List<String> args) {}
