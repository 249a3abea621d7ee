/** The command line: each command is a class, which uses the public types of the library alone. */
package io.github.redislocks.cli;
