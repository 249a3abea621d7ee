package io.github.redislocks.testkit.twin;

/** The error reply of one command. */
final class CommandException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    static final String NOT_AN_INTEGER = "ERR value is not an integer or out of range";
    static final String NOT_A_FLOAT = "ERR value is not a valid float";
    static final String SYNTAX = "ERR syntax error";
    static final String WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private final String message;

    CommandException(String message) {
        super(message, null, false, false);
        this.message = message;
    }

    @Override
    public String getMessage() {
        return message;
    }

    static CommandException wrongNumberOfArguments(String command) {
        return new CommandException("ERR wrong number of arguments for '" + command + "' command");
    }
}
