/** An application that knows the core alone. */
module check.app {
    requires io.github.redislocks;
}
