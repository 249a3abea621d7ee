package io.github.redislocks.torture;

import java.util.List;

/**
 * A line of a log.
 *
 * @param nanos when, by the monotonic clock that all processes of a machine share
 * @param actor who: {@code worker/thread}, or the nemesis
 * @param lock which lock, or what else it is about; empty if nothing
 * @param number what its kind says
 * @param text what its kind says
 */
record Event(long nanos, String actor, Kind kind, String lock, long number, String text) {

    /** The kinds of events. */
    enum Kind {
        /** A call that wants the lock begins; number: its time in ns, 0 for none and -1 for endless; text: which. */
        ASK,
        /**
         * The actor has the lock, and the library said so at this time; number: token; text: {@link #RENEWED} or how.
         */
        IN,
        /** The library said of the hold that is logged next that the one before it was not released. */
        ALARM,
        /**
         * The actor entered once more, went out, or came back from a Condition; number: its hold count; text: which.
         */
        COUNT,
        /** The library said at this time that it still has the lock. */
        HELD,
        /**
         * The actor changed the resource; number: the value that it read before; text: {@link #PLAIN}, {@link #FENCED}.
         */
        WROTE,
        /**
         * The actor read the resource, and the library said that no writer had the lock meanwhile; number: the value;
         * text: its copy, and when the reading began.
         */
        SAW,
        /** The resource refused its token; number: the token. */
        REFUSED,
        /** The actor is about to give the lock up; text: {@link #UNLOCK} or {@link #AWAIT}. */
        OUT,
        /** The actor has given the lock up; number: how long after its beginning it keeps the lock taken, in ns. */
        FREED,
        /** The actor learned that it has lost the lock; text: how. */
        LOST,
        /** The actor's listener received a loss; number: token. */
        TOLD,
        /** A try that got nothing. */
        NO,
        /** An acquisition was cancelled before it had the lock. */
        CANCELLED,
        /** An exception by which the library said that Redis is away; text: its class. */
        FAIL,
        /** A failure that must not happen at all. */
        BUG,
        /** A control thread stood still until now; number: for how many ns. */
        STALL,
        /** The client of a worker keeps locks that nobody holds; number: for how many ns. */
        RESIDENT,
        /** A worker has ended in order; lock: threads, heap; number: how many. */
        END,
        /** The nemesis begins; lock: the worker that it harms, if it is one; text: the fault. */
        STRIKE,
        /** The actor has ended. */
        CEASE
    }

    static final String NEMESIS = "nemesis";
    static final String RENEWED = "renewed";
    /** The text of an IN by a reader. */
    static final String READ = "read";
    /** The first word of the text of an IN with permits; their numbers follow. */
    static final String PERMITS = "permits";

    /** The word that follows the way in the text of an ASK by a handle. */
    static final String BY_HANDLE = "_BY_HANDLE";

    static final String REENTER = "reenter";
    static final String EXIT = "exit";
    static final String AWAIT = "await";
    static final String UNLOCK = "unlock";

    static final String PLAIN = "plain";
    static final String FENCED = "fenced";

    private static final int FIELDS = 6;

    String line() {
        return String.join("\t", List.of(Long.toString(nanos), actor, kind.name(), lock, Long.toString(number), text));
    }

    /** Reads a line; null if it is not a whole one. */
    @SuppressWarnings("NullAway") // Tests are not checked for nulls.
    static Event parse(String line) {
        String[] fields = line.split("\t", -1);
        if (fields.length != FIELDS) {
            return null;
        }
        return new Event(
                Long.parseLong(fields[0]),
                fields[1],
                Kind.valueOf(fields[2]),
                fields[3],
                Long.parseLong(fields[4]),
                fields[5]);
    }

    /** The process of the actor. */
    String worker() {
        int slash = actor.indexOf('/');
        return slash < 0 ? actor : actor.substring(0, slash);
    }
}
