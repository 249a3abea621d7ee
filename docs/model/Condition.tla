----------------------------- MODULE Condition -----------------------------
(***************************************************************************)
(* A signal and those who wait for it. Any of them may die at any time, not *)
(* be notified, be timed out or interrupted (rejoin), or leave with         *)
(* an error, as when its client closes; and Redis may go away permanently.  *)
(* What keeps the lock is left to Queue, what attempts leave behind to      *)
(* Succession; time is only that what is dead lapses in the end. The line   *)
(* is looked at only by a script that somebody runs: nothing in Redis       *)
(* happens by itself but that a lease ends. One signal; a wake-up without   *)
(* one is allowed, as in Java.                                              *)
(***************************************************************************)
EXTENDS Sequences, Naturals, FiniteSets

CONSTANTS
    Clients,    \* each waits in the Condition at first
    Leavers,    \* those of them that may be timed out or interrupted, or leave with an error
    Away,       \* whether Redis may go away permanently
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    cond,       \* who waits in the Condition, in order
    line,       \* who queues, in order, and whether with the signal
    owner,      \* the owner of the lock
    mark,       \* whether the signal led to its hold, and its caller has not had that yet
    good,       \* the released mark of the last hold
    live,       \* who has not died
    lapsed,     \* the dead whose places in Redis are past their deadlines
    deaf,       \* whose mailbox has nobody behind it, as Redis sees it: dead, or cut off for a while
    signalled,  \* whether the signal was given
    st,         \* what each takes its wait for: waits; signalled or timed, as rejoin said; or how it ended
    moved,      \* whom a signal has moved to the line, as nobody knows
    up          \* whether Redis answers

vars == <<cond, line, owner, mark, good, live, lapsed, deaf, signalled, st, moved, up>>

None == "none"
Holder == "holder"

Lines(q, k, w, sig) == [q |-> q, k |-> k, w |-> w, sig |-> sig]
Rest(q, i) == SubSeq(q, 1, i - 1) \o SubSeq(q, i + 1, Len(q))
Without(k, c) == SelectSeq(k, LAMBDA d : d # c)
Waits(c) == \E i \in 1..Len(cond) : cond[i] = c
Queues(c) == \E i \in 1..Len(line) : line[i].c = c
HasSignal(c) == \E i \in 1..Len(line) : line[i].c = c /\ line[i].sig

\* signal in line.lua: the first of the Condition k that lives goes to the line q, the signal with it.
RECURSIVE PassOn(_, _)
PassOn(q, k) ==
    IF k = <<>> THEN Lines(q, k, None, FALSE)
    ELSE IF Head(k) \in lapsed THEN PassOn(q, Tail(k))
    ELSE Lines(Append(q, [c |-> Head(k), sig |-> TRUE]), Tail(k), None, FALSE)

\* drop in line.lua, of place i of the line: its signal goes to the next.
Dropped(q, k, i) ==
    IF q[i].sig /\ Broken # "signalDies" THEN PassOn(Rest(q, i), k) ELSE Lines(Rest(q, i), k, None, FALSE)

\* grant in line.lua, from place i on. Who takes a place away, or passes it by, gives its signal to the next.
RECURSIVE Walk(_, _, _, _)
Walk(q, k, i, asker) ==
    IF i > Len(q) THEN Lines(q, k, None, FALSE)
    ELSE LET p == q[i]
             dropped == Dropped(q, k, i)
             passed == IF p.sig /\ Broken # "signalStays" THEN PassOn([q EXCEPT ![i].sig = FALSE], k)
                       ELSE Lines(q, k, None, FALSE)
         IN IF p.c \in lapsed THEN Walk(dropped.q, dropped.k, i, asker)
            ELSE IF p.c = asker \/ p.c \notin deaf THEN Lines(Rest(q, i), k, p.c, p.sig)
            ELSE Walk(passed.q, passed.k, i + 1, asker)

\* wake in line.lua, by the next owner after a lost hold: all waiters of the Condition move to the queue.
Wake(r) ==
    IF r.w = None \/ Broken = "noWake" THEN r
    ELSE LET there == SelectSeq(r.k, LAMBDA c : c \notin lapsed)
         IN Lines(r.q \o [j \in 1..Len(there) |-> [c |-> there[j], sig |-> FALSE]], <<>>, r.w, r.sig)

InLine(q) == {q[i].c : i \in {j \in 1..Len(q) : q[j].sig}}

Becomes(r) ==
    /\ line' = r.q /\ cond' = r.k /\ owner' = r.w /\ mark' = r.sig
    /\ moved' = moved \union InLine(r.q) \union (IF r.sig THEN {r.w} ELSE {})

\* Who finds the lock free takes it for the first of the line; a loss before that wakes all.
Found(q, k, c) ==
    /\ LET r == Walk(q, k, 1, c) IN Becomes(IF good THEN r ELSE Wake(r))
    /\ good' = (good /\ owner' = None)

Wanting(c) == c \in live /\ st[c] \in {"waits", "signalled", "timed"}

\* @lua signal.lua @java Conditions#signal
Signal ==
    /\ up /\ owner = Holder /\ Holder \in live /\ ~signalled /\ cond # <<>>
    /\ LET r == PassOn(line, cond) IN Becomes([r EXCEPT !.w = Holder])
    /\ signalled' = TRUE
    /\ UNCHANGED <<good, live, lapsed, deaf, st, up>>

\* The owner returns from its wait, and releases: the released mark counts for the next owner.
\* @lua release.lua @java Exits#release
Release ==
    /\ up /\ owner \in live
    /\ IF owner = Holder THEN TRUE ELSE Wanting(owner)
    /\ LET r == Walk(line, cond, 1, None) IN Becomes(r) /\ good' = (r.w = None)
    /\ st' = IF owner = Holder THEN st ELSE [st EXCEPT ![owner] = IF @ = "timed" THEN "returned" ELSE "woken"]
    /\ UNCHANGED <<live, lapsed, deaf, signalled, up>>

\* A waiter finds the lock free. One that waits in the Condition queues only if the last hold was lost.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Beat(c) ==
    /\ up /\ owner = None /\ Wanting(c)
    /\ Queues(c) \/ (Waits(c) /\ ~good /\ Broken # "noWake")
    /\ Found(IF Queues(c) THEN line ELSE Append(line, [c |-> c, sig |-> FALSE]), Without(cond, c), c)
    /\ UNCHANGED <<live, lapsed, deaf, signalled, st, up>>

\* Who is timed out or interrupted leaves the Condition for the line, unless it was signalled before. If the answer is lost,
\* it asks again; then it may have the lock already by what the first has done.
\* @lua rejoin.lua @java Conditions.ConditionWait#call
Rejoin(c) ==
    LET mine == owner = c
        signal == IF mine THEN mark \/ Broken = "ownGrantIsSignal" ELSE HasSignal(c)
        told == IF signal /\ Broken # "signalMissed" THEN "signalled" ELSE "timed"
        placed == IF Queues(c) THEN line ELSE Append(line, [c |-> c, sig |-> FALSE])
    IN
    /\ up /\ c \in live \intersect Leavers /\ st[c] = "waits"
    /\ IF mine \/ signal THEN UNCHANGED <<line, cond, owner, mark, moved, good>>
       ELSE IF owner = None THEN Found(placed, Without(cond, c), c)
       ELSE line' = placed /\ cond' = Without(cond, c) /\ UNCHANGED <<owner, mark, moved, good>>
    /\ st' \in {st, [st EXCEPT ![c] = told]}
    /\ UNCHANGED <<live, lapsed, deaf, signalled, up>>

\* Who leaves without having had the lock, since its client closes or Redis was away, gives on what it was given.
\* @lua leave.lua @java Handoff#abandon
Leave(c) ==
    LET i == CHOOSE j \in 1..Len(line) : line[j].c = c
        left == IF Queues(c) THEN Dropped(line, cond, i) ELSE Lines(line, Without(cond, c), None, FALSE)
        given == IF owner = c /\ mark /\ Broken # "leftWithSignal" THEN PassOn(left.q, left.k) ELSE left
        r == Walk(given.q, given.k, 1, None)
    IN
    /\ up /\ Wanting(c) /\ c \in Leavers
    /\ IF owner = c THEN Becomes(r) /\ good' = (r.w = None)
       ELSE Becomes([left EXCEPT !.w = owner, !.sig = mark]) /\ UNCHANGED good
    /\ st' = [st EXCEPT ![c] = "gone"]
    /\ UNCHANGED <<live, lapsed, deaf, signalled, up>>

\* Whoever has to return fails when Redis has been away for too long. Who still waits for a signal bears that.
\* @lua - @java Heartbeats#inspect
Fail(c) ==
    /\ ~up /\ Wanting(c) /\ st[c] # "waits" /\ Broken # "waitsForEver"
    /\ st' = [st EXCEPT ![c] = "failed"]
    /\ UNCHANGED <<cond, line, owner, mark, good, live, lapsed, deaf, signalled, moved, up>>

\* @world
GoAway ==
    /\ Away /\ up /\ up' = FALSE
    /\ UNCHANGED <<cond, line, owner, mark, good, live, lapsed, deaf, signalled, st, moved>>

\* The lease of a dead owner ends, and nothing marks it as released. Nobody is told.
\* @world
Expire ==
    /\ owner # None /\ owner \notin live
    /\ owner' = None /\ mark' = FALSE
    /\ UNCHANGED <<cond, line, good, live, lapsed, deaf, signalled, st, moved, up>>

\* A place that nobody renews is past its deadline; it stays until a script meets it.
\* @world
Lapse(c) ==
    /\ c \notin live \union lapsed
    /\ lapsed' = lapsed \union {c}
    /\ UNCHANGED <<cond, line, owner, mark, good, live, deaf, signalled, st, moved, up>>

\* @world
Crash(c) ==
    /\ c \in live
    /\ live' = live \ {c}
    /\ UNCHANGED <<cond, line, owner, mark, good, lapsed, deaf, signalled, st, moved, up>>

\* A subscription breaks, of a dead client or a living one.
\* @world
Cut(c) ==
    /\ c \notin deaf
    /\ deaf' = deaf \union {c}
    /\ UNCHANGED <<cond, line, owner, mark, good, live, lapsed, signalled, st, moved, up>>

\* @lua - @java Mailbox#subscribe
Resubscribe(c) ==
    /\ c \in deaf \intersect live
    /\ deaf' = deaf \ {c}
    /\ UNCHANGED <<cond, line, owner, mark, good, live, lapsed, signalled, st, moved, up>>

Init ==
    \* Which of them comes first makes no difference.
    /\ cond = CHOOSE s \in [1..Cardinality(Clients) -> Clients] : \A i, j \in DOMAIN s : i # j => s[i] # s[j]
    /\ line = <<>> /\ owner = Holder /\ mark = FALSE /\ good = FALSE
    /\ live = Clients \union {Holder} /\ lapsed = {} /\ deaf = {}
    /\ signalled = FALSE /\ st = [c \in Clients |-> "waits"] /\ moved = {} /\ up = TRUE

Next ==
    \/ Signal \/ Release \/ Expire \/ GoAway
    \/ \E c \in Clients : Beat(c) \/ Rejoin(c) \/ Leave(c) \/ Fail(c) \/ Lapse(c) \/ Cut(c) \/ Resubscribe(c)
    \/ \E c \in live : Crash(c)

FairSpec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(Release) /\ WF_vars(Expire)
    /\ \A c \in Clients : WF_vars(Beat(c)) /\ WF_vars(Lapse(c)) /\ WF_vars(Fail(c))

-----------------------------------------------------------------------------

\* A signal wakes somebody, as long as somebody who waited for it is left to wake.
ToWake == {c \in Clients \intersect live : st[c] \in {"waits", "signalled"}}
NoLostWakeUp == signalled ~> (~up \/ ToWake = {} \/ \E c \in Clients : st[c] = "woken")

\* Who says that it was signalled was, before its own reason to go.
Truth == \A c \in Clients : st[c] = "signalled" => c \in moved

\* Whoever has to return does, whatever becomes of Redis.
Returns == \A c \in Clients : (st[c] \in {"signalled", "timed"}) ~> (st[c] \in {"woken", "returned", "gone", "failed"} \/ c \notin live)

=============================================================================
