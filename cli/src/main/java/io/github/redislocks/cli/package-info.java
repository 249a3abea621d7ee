/** The command line. Each command is a class, and uses almost only the public types of the library. */
package io.github.redislocks.cli;
