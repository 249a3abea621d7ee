----------------------------- MODULE Condition -----------------------------
(***************************************************************************)
(* A signal and those who wait for it, any of whom may die at any time. The *)
(* line is taken as Queue has it; time is only that what is dead lapses in  *)
(* the end. One signal; a wake-up without one is allowed, as in Java.       *)
(***************************************************************************)
EXTENDS Sequences, Naturals

CONSTANTS
    Clients,    \* each waits in the Condition at first
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    cond,       \* who waits in the Condition, in order
    line,       \* who queues, in order, and whether with the signal
    owner,      \* who has the lock
    good,       \* the released mark of the last hold
    live,       \* who has not died
    signalled,  \* whether the signal was given
    woken       \* who has the lock back

vars == <<cond, line, owner, good, live, signalled, woken>>

None == "none"
Holder == "holder"

Moved(c, sig) == Append(line, [c |-> c, sig |-> sig])

\* signal in line.lua, for a line that this place is taken from or that stays as it is
PassOn(rest) ==
    IF cond = <<>> THEN line' = rest /\ UNCHANGED cond
    ELSE line' = Append(rest, [c |-> Head(cond), sig |-> TRUE]) /\ cond' = Tail(cond)

\* @lua signal.lua @java RedisCondition#signal
Signal ==
    /\ owner = Holder /\ Holder \in live /\ ~signalled /\ cond # <<>>
    /\ PassOn(line)
    /\ signalled' = TRUE
    /\ UNCHANGED <<owner, good, live, woken>>

\* @lua release.lua @java Sync#release
Release ==
    /\ owner \in live
    /\ owner' = None /\ good' = TRUE
    /\ woken' = IF owner = Holder THEN woken ELSE woken \union {owner}
    /\ UNCHANGED <<cond, line, live, signalled>>

\* The lock goes to the first in line, who may be dead without Redis knowing; past others only if they are dead. After a
\* hold that was lost, all of the Condition come to the line: wake in line.lua.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Grant ==
    /\ owner = None
    /\ \E i \in 1..Len(line) :
        LET rest == SubSeq(line, 1, i - 1) \o SubSeq(line, i + 1, Len(line)) IN
        /\ \A j \in 1..(i - 1) : line[j].c \notin live
        /\ owner' = line[i].c
        /\ IF good \/ Broken = "noWake" THEN line' = rest /\ UNCHANGED cond
           ELSE line' = rest \o [j \in 1..Len(cond) |-> [c |-> cond[j], sig |-> FALSE]] /\ cond' = <<>>
    /\ good' = FALSE
    /\ UNCHANGED <<live, signalled, woken>>

\* One that waits in the Condition finds a lock that its holder lost, perhaps with the signal, and queues.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Beat(c) ==
    /\ owner = None /\ ~good /\ c \in live /\ Broken # "noWake"
    /\ \E i \in 1..Len(cond) : cond[i] = c
    /\ cond' = SelectSeq(cond, LAMBDA d : d # c)
    /\ line' = Moved(c, FALSE)
    /\ UNCHANGED <<owner, good, live, signalled, woken>>

\* A place that nobody renews is dropped by whoever meets it, and its signal goes to the next: drop in line.lua.
\* @lua line.lua @java Heartbeats#inspect
Drop(c) ==
    /\ c \notin live
    /\ \/ /\ \E i \in 1..Len(cond) : cond[i] = c
          /\ cond' = SelectSeq(cond, LAMBDA d : d # c)
          /\ UNCHANGED line
       \/ \E i \in 1..Len(line) :
            LET rest == SelectSeq(line, LAMBDA p : p.c # c) IN
            /\ line[i].c = c
            /\ IF line[i].sig /\ Broken # "signalDies" THEN PassOn(rest) ELSE line' = rest /\ UNCHANGED cond
    /\ UNCHANGED <<owner, good, live, signalled, woken>>

\* The lease of a dead owner ends, and nothing marks it as released.
\* @world
Expire ==
    /\ owner # None /\ owner \notin live
    /\ owner' = None
    /\ UNCHANGED <<cond, line, good, live, signalled, woken>>

\* @world
Crash ==
    /\ \E c \in live : live' = live \ {c}
    /\ UNCHANGED <<cond, line, owner, good, signalled, woken>>

Init ==
    /\ cond \in {s \in [1..2 -> Clients] : s[1] # s[2]}
    /\ line = <<>> /\ owner = Holder /\ good = FALSE /\ live = Clients \union {Holder}
    /\ signalled = FALSE /\ woken = {}

Steps == Release \/ Grant \/ Expire \/ \E c \in Clients : Beat(c) \/ Drop(c)

Next == Steps \/ Signal \/ Crash

FairSpec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(Release) /\ WF_vars(Grant) /\ WF_vars(Expire)
    /\ \A c \in Clients : WF_vars(Beat(c)) /\ WF_vars(Drop(c))

-----------------------------------------------------------------------------

\* A signal wakes somebody, as long as somebody who waited is left to wake.
NoLostWakeUp == signalled ~> (woken # {} \/ Clients \intersect live = {})

=============================================================================
