package io.github.redislocks.waiting;

/**
 * The decisions of an acquisition, as functions of values, without a clock, a thread or a request. {@link #after}
 * returns the state of knowledge after an event, and {@link #next} what to do then. {@link BlockingDriver} and
 * {@link BatchDriver} carry out the decisions.
 *
 * <pre>
 *   state     asks Redis again             leaves
 *   UNASKED   even if no time is left      once its time is over
 *   DECLINED  never                        at once
 *   others    while time is left           once its time is over
 *
 *   event         state if caller waits    state of a try
 *   ASKS          UNASKED -> ASKED         UNASKED -> ASKED
 *   QUEUED        BUSY                     BUSY
 *   LINE          ASKED -> UNASKED         ASKED -> UNASKED
 *   BUSY          BUSY                     DECLINED
 *   KEPT          BUSY                     TRIED, and TRIED -> DECLINED
 *   KEPT_UNHEARD  BUSY                     BUSY, and TRIED -> DECLINED
 *   LAPSED        LAPSED                   LAPSED
 * </pre>
 */
public final class Step {

    /** The acquisition has ended, with a hold or without. */
    public static final long ENDED = -1;
    /** Next, ask for the lock. */
    public static final long ASK = -2;
    /** Next, leave the queue and Redis without the lock. */
    public static final long LEAVE = -3;

    private Step() {}

    /** The knowledge that an acquisition has about the lock. */
    public enum State {
        /** Nothing is known: no request was sent, or only one that does not look into the queue. */
        UNASKED,
        /** Nothing is known: no request was answered. */
        ASKED,
        /** Another owner has the lock. */
        BUSY,
        /** A client keeps the lock, and a try has asked that client for it. */
        TRIED,
        /** Another owner has the lock, and the caller does not wait for it. */
        DECLINED,
        /** The lock was granted, but each time the lease had ended before the reply came. */
        LAPSED;

        /** Whether a reply has said that another owner has the lock. */
        boolean isBusy() {
            return this == BUSY || this == TRIED || this == DECLINED;
        }
    }

    /** The events that change the state. */
    enum Event {
        /** A request is sent. */
        ASKS,
        /** The attempt has a place in the queue. */
        QUEUED,
        /**
         * The short script found that the lock may be free and that there may be waiters, so the next request has to
         * use the script that looks into the queue.
         */
        LINE,
        /** Another owner has the lock. */
        BUSY,
        /** A client keeps the lock, and its answer to a try would arrive here. */
        KEPT,
        /** A client keeps the lock, but was not asked for it, since its answer would not arrive here. */
        KEPT_UNHEARD,
        /** The lease of a grant had ended before the reply came. */
        LAPSED
    }

    /** Why an acquisition ends without the lock. */
    enum Reason {
        BUSY,
        /** No grant counts yet after a failover. */
        TOO_SOON,
        /** Each lease had ended before the reply came. */
        TOO_FAR,
        /** No reply has said whether the lock is free. */
        UNKNOWN
    }

    /** {@code waits} says whether the caller waits for a busy lock. */
    static State after(State state, Event event, boolean waits) {
        return switch (event) {
            case ASKS -> state == State.UNASKED ? State.ASKED : state;
            case QUEUED -> State.BUSY;
            case LINE -> state == State.ASKED ? State.UNASKED : state;
            case BUSY -> waits ? State.BUSY : State.DECLINED;
            case KEPT -> waits ? State.BUSY : state == State.TRIED ? State.DECLINED : State.TRIED;
            case KEPT_UNHEARD -> !waits && state == State.TRIED ? State.DECLINED : State.BUSY;
            case LAPSED -> State.LAPSED;
        };
    }

    /**
     * Returns what to do: {@link #ASK}, {@link #LEAVE}, or for how many ns there is nothing to do unless the owner is
     * woken; 0 to take the next step at once.
     *
     * @param mayAsk whether the attempt may ask after the pause
     */
    public static long next(State state, boolean mayAsk, long pauseNanos, long leftNanos) {
        boolean over = leftNanos <= 0 || state == State.DECLINED;
        if (mayAsk && pauseNanos <= 0 && (!over || state == State.UNASKED)) {
            return ASK;
        }
        return over ? LEAVE : Math.max(0, Math.min(leftNanos, pauseNanos));
    }

    /** With {@code grace}, no grant counts yet after a failover; {@code known} is that the lock was busy. */
    static Reason reason(State state, boolean grace, boolean known) {
        if (grace && state != State.DECLINED) {
            return Reason.TOO_SOON;
        }
        return state == State.LAPSED ? Reason.TOO_FAR : known ? Reason.BUSY : Reason.UNKNOWN;
    }
}
