----------------------------- MODULE Condition -----------------------------
(***************************************************************************)
(* A signal and those who wait for it, any of whom may die at any time, or  *)
(* not be told of a grant. What keeps the lock is left to Queue; time is    *)
(* only that what is dead lapses in the end. The line is looked at only by  *)
(* a script that somebody runs: nothing in Redis happens by itself but that *)
(* a lease ends. One signal; a wake-up without one is allowed, as in Java.  *)
(***************************************************************************)
EXTENDS Sequences, Naturals, FiniteSets

CONSTANTS
    Clients,    \* each waits in the Condition at first
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    cond,       \* who waits in the Condition, in order
    line,       \* who queues, in order, and whether with the signal
    owner,      \* who has the lock
    good,       \* the released mark of the last hold
    live,       \* who has not died
    lapsed,     \* the dead whose places in Redis are past their deadlines
    deaf,       \* whose mailbox has nobody behind it, as Redis sees it: dead, or cut off for a while
    signalled,  \* whether the signal was given
    woken       \* who has had the lock back

vars == <<cond, line, owner, good, live, lapsed, deaf, signalled, woken>>

None == "none"
Holder == "holder"

Lines(q, k, w) == [q |-> q, k |-> k, w |-> w]
Rest(q, i) == SubSeq(q, 1, i - 1) \o SubSeq(q, i + 1, Len(q))
Waits(c) == \E i \in 1..Len(cond) : cond[i] = c
Queues(c) == \E i \in 1..Len(line) : line[i].c = c

\* signal in line.lua: the first of the Condition k that lives goes to the line q, the signal with it.
RECURSIVE PassOn(_, _)
PassOn(q, k) ==
    IF k = <<>> THEN Lines(q, k, None)
    ELSE IF Head(k) \in lapsed THEN PassOn(q, Tail(k))
    ELSE Lines(Append(q, [c |-> Head(k), sig |-> TRUE]), Tail(k), None)

\* grant in line.lua, from place i on. Who takes a place away, or passes it by, gives its signal to the next.
RECURSIVE Walk(_, _, _, _)
Walk(q, k, i, asker) ==
    IF i > Len(q) THEN Lines(q, k, None)
    ELSE LET p == q[i]
             dropped == IF p.sig /\ Broken # "signalDies" THEN PassOn(Rest(q, i), k) ELSE Lines(Rest(q, i), k, None)
             passed == IF p.sig /\ Broken # "signalStays" THEN PassOn([q EXCEPT ![i].sig = FALSE], k) ELSE Lines(q, k, None)
         IN IF p.c \in lapsed THEN Walk(dropped.q, dropped.k, i, asker)
            ELSE IF p.c = asker \/ p.c \notin deaf THEN Lines(Rest(q, i), k, p.c)
            ELSE Walk(passed.q, passed.k, i + 1, asker)

\* wake in line.lua, by who has the lock after a hold that was lost: all of the Condition come to the line.
Wake(r) ==
    IF r.w = None \/ Broken = "noWake" THEN r
    ELSE LET there == SelectSeq(r.k, LAMBDA c : c \notin lapsed)
         IN Lines(r.q \o [j \in 1..Len(there) |-> [c |-> there[j], sig |-> FALSE]], <<>>, r.w)

Becomes(r) == line' = r.q /\ cond' = r.k /\ owner' = r.w

\* @lua signal.lua @java RedisCondition#signal
Signal ==
    /\ owner = Holder /\ Holder \in live /\ ~signalled /\ cond # <<>>
    /\ LET r == PassOn(line, cond) IN line' = r.q /\ cond' = r.k
    /\ signalled' = TRUE
    /\ UNCHANGED <<owner, good, live, lapsed, deaf, woken>>

\* The released mark counts for who comes next; a grant in the same script uses it up.
\* @lua release.lua @java Sync#release
Release ==
    /\ owner \in live
    /\ LET r == Walk(line, cond, 1, None) IN Becomes(r) /\ good' = (r.w = None)
    /\ woken' = IF owner = Holder THEN woken ELSE woken \union {owner}
    /\ UNCHANGED <<live, lapsed, deaf, signalled>>

\* A waiter finds the lock free. One that waits in the Condition queues only if the last hold was lost.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Beat(c) ==
    /\ owner = None /\ c \in live
    /\ Queues(c) \/ (Waits(c) /\ ~good /\ Broken # "noWake")
    /\ LET q == IF Queues(c) THEN line ELSE Append(line, [c |-> c, sig |-> FALSE])
           r == Walk(q, SelectSeq(cond, LAMBDA d : d # c), 1, c)
       IN Becomes(IF good THEN r ELSE Wake(r))
    /\ good' = (good /\ owner' = None)
    /\ UNCHANGED <<live, lapsed, deaf, signalled, woken>>

\* The lease of a dead owner ends, and nothing marks it as released. Nobody is told.
\* @world
Expire ==
    /\ owner # None /\ owner \notin live
    /\ owner' = None
    /\ UNCHANGED <<cond, line, good, live, lapsed, deaf, signalled, woken>>

\* A place that nobody renews is past its deadline; it stays until a script meets it.
\* @world
Lapse(c) ==
    /\ c \notin live \union lapsed
    /\ lapsed' = lapsed \union {c}
    /\ UNCHANGED <<cond, line, owner, good, live, deaf, signalled, woken>>

\* @world
Crash(c) ==
    /\ c \in live
    /\ live' = live \ {c}
    /\ UNCHANGED <<cond, line, owner, good, lapsed, deaf, signalled, woken>>

\* A subscription breaks, of a dead client or a living one.
\* @world
Cut(c) ==
    /\ c \notin deaf
    /\ deaf' = deaf \union {c}
    /\ UNCHANGED <<cond, line, owner, good, live, lapsed, signalled, woken>>

\* @lua - @java Mailbox#subscribe
Resubscribe(c) ==
    /\ c \in deaf \intersect live
    /\ deaf' = deaf \ {c}
    /\ UNCHANGED <<cond, line, owner, good, live, lapsed, signalled, woken>>

Init ==
    /\ cond \in {s \in [1..Cardinality(Clients) -> Clients] : \A i, j \in DOMAIN s : i # j => s[i] # s[j]}
    /\ line = <<>> /\ owner = Holder /\ good = FALSE
    /\ live = Clients \union {Holder} /\ lapsed = {} /\ deaf = {}
    /\ signalled = FALSE /\ woken = {}

Next ==
    \/ Signal \/ Release \/ Expire
    \/ \E c \in Clients : Beat(c) \/ Lapse(c) \/ Cut(c) \/ Resubscribe(c)
    \/ \E c \in live : Crash(c)

FairSpec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(Release) /\ WF_vars(Expire)
    /\ \A c \in Clients : WF_vars(Beat(c)) /\ WF_vars(Lapse(c))

-----------------------------------------------------------------------------

\* A signal wakes somebody, as long as somebody who waited is left to wake.
NoLostWakeUp == signalled ~> (woken # {} \/ Clients \intersect live = {})

=============================================================================
