/** The demo: what a lock is good for, in processes that can be killed. */
package io.github.redislocks.cli.demo;
