/** The main job of the README: a stock sold by several processes, first without the lock and then under it. */
@NullMarked
package io.github.redislocks.demo;

import org.jspecify.annotations.NullMarked;
