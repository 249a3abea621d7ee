------------------------------ MODULE Several ------------------------------
(***************************************************************************)
(* Several locks at once, of two names: acquired one after the other in one *)
(* order, whatever the caller's is, each by its own line; all or nothing.   *)
(*                                                                         *)
(* No time, as in Handle: a deadline that passes comes before the lease     *)
(* that ends; what is dated may end unrun at any moment. A request runs and *)
(* is answered in one step, but for a fault: a copy that runs late, an      *)
(* answer that is lost, a deadline that passes, a forced end.               *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,
    Calls,      \* acquisitions of several names, per client
    Together,   \* whether one request may take them all, if all are free
    Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis, for each name: its owner, and the owners of places, in order
    cl,         \* the clients
    mail,       \* messages on their way to a mailbox
    strays,     \* copies of requests that may run, though nobody waits for an answer
    taken,      \* holds that were forced
    faults      \* how many are left

vars == <<srv, cl, mail, strays, taken, faults>>

Names == 1..2
None == [c |-> "none", k |-> 0]
Me(c) == [c |-> c, k |-> cl[c].k]

(***************************************************************************)
(* The scripts, of one name                                                *)
(***************************************************************************)

Out(ans, s) == [ans |-> ans, s |-> s]
HasPlace(s, id) == \E i \in 1..Len(s.line) : s.line[i] = id
Dropped(s, id) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : p # id)]
LineUp(s, id) == IF HasPlace(s, id) THEN s ELSE [s EXCEPT !.line = Append(@, id)]
Grant(s) == IF s.line = <<>> THEN [s EXCEPT !.owner = None] ELSE [s EXCEPT !.owner = Head(s.line), !.line = Tail(s.line)]

\* acquire.lua, mode queue, and heartbeat.lua: a free lock goes to the first in line.
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, id) ==
    LET won == IF s.owner = None THEN Grant(LineUp(s, id)) ELSE LineUp(s, id) IN
    IF s.owner = id THEN Out("OK", s) ELSE Out(IF won.owner = id THEN "OK" ELSE "QUEUED", won)

\* release.lua and leave.lua, which hand on what they end
\* @lua leave.lua @java Scripts#leave
Leave(s, id) == IF s.owner = id THEN Grant(s) ELSE Dropped(s, id)

\* What a step of one name publishes: to whom it was granted who did not ask.
Mail(n, before, after, asker) ==
    mail' = IF after.owner \in {None, before.owner, asker} THEN mail ELSE mail \union {[id |-> after.owner, n |-> n]}

\* All names of a call in one request: all, if all are free, or else none.
AllFree(names) == \A i \in 1..Len(names) : srv[names[i]].owner = None /\ srv[names[i]].line = <<>>
InAll(names, n) == \E i \in 1..Len(names) : names[i] = n
TakenAll(names, id) ==
    [n \in Names |-> IF InAll(names, n) /\ (AllFree(names) \/ (Broken = "takesFree" /\ srv[n].owner = None))
                     THEN [srv[n] EXCEPT !.owner = id] ELSE srv[n]]

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults

Ask(id, n) == [op |-> "ask", id |-> id, names |-> <<n>>]
All(id, names) == [op |-> "all", id |-> id, names |-> names]
End(id, n) == [op |-> "leave", id |-> id, names |-> <<n>>]

\* @world
RunLate(r) ==
    /\ IF r.op = "all" THEN srv' = TakenAll(r.names, r.id) /\ UNCHANGED mail
       ELSE LET n == r.names[1]
                s == IF r.op = "leave" THEN Leave(srv[n], r.id) ELSE Acquire(srv[n], r.id).s
            IN srv' = [srv EXCEPT ![n] = s] /\ Mail(n, srv[n], s, r.id)
    /\ strays' = strays \ {r}
    /\ UNCHANGED <<cl, taken, faults>>

\* Its time is over: notAfter.
\* @world
TooLate(r) ==
    /\ r.op # "leave"
    /\ strays' = strays \ {r}
    /\ UNCHANGED <<srv, cl, mail, taken, faults>>

(***************************************************************************)
(* The client                                                              *)
(***************************************************************************)

\* In whatever order they are named, and as often: each once, in one order.
Sorted(named) ==
    IF named[1] = named[2] THEN IF Broken = "namedTwice" THEN named ELSE <<named[1]>>
    ELSE IF Broken = "unsorted" THEN named ELSE <<1, 2>>

\* The names that a call has so far, the one that it waits for, and the last.
Got(me) == {me.names[i] : i \in 1..(me.i - 1)}
Wanted(me) == me.names[me.i]
Last(me) == me.names[Len(me.names)]
NamesOf(me) == {me.names[i] : i \in 1..Len(me.names)}

\* It has all, or waits for the next. Before it says so it looks whether all that it has is held: a loss is one of all.
Settled(me) ==
    IF me.i < Len(me.names) THEN [me EXCEPT !.i = @ + 1, !.placed = FALSE]
    ELSE [me EXCEPT !.i = @ + 1, !.placed = FALSE, !.st = "held"]
MaySettle(me) == me.i < Len(me.names) \/ me.passed = {} \/ Broken \in {"settledLost", "lastDeadline"}

\* Each name of the call has a leave, which also ends its hold; sent again as long as a request of it may run.
Ended(me, st, names) == [me EXCEPT !.st = st, !.leaves = @ \union {[k |-> me.k, n |-> n] : n \in names}]

\* @lua - @java SeveralLocks#acquire
Begin(c) ==
    /\ cl[c].st \in {"idle", "lost"} /\ cl[c].calls < Calls
    /\ \E named \in {<<1, 2>>, <<2, 1>>, <<1, 1>>, <<2, 2>>} :
        cl' = [cl EXCEPT ![c].st = "gets", ![c].calls = @ + 1, ![c].k = @ + 1, ![c].i = 1, ![c].names = Sorted(named),
                         ![c].passed = {}, ![c].placed = FALSE, ![c].asked = FALSE]
    /\ UNCHANGED <<srv, mail, strays, taken, faults>>

\* One request for all names comes before the first: it takes all or nothing, and no place. What follows one that took
\* nothing, or is not answered, is done by other attempts: what it may have taken after all is not waited with, but left.
\* @lua take_all.lua @java Together#take
TakeAll(c) ==
    LET me == cl[c]
        all == TakenAll(me.names, Me(c))
        won == \A n \in NamesOf(me) : all[n].owner = Me(c)
        copy == All(Me(c), me.names)
        same == [me EXCEPT !.asked = TRUE]
        next(doubt) ==
            IF Broken \in {"sameAttempt", "takesFree"} THEN same
            ELSE [(IF doubt THEN Ended(same, "gets", NamesOf(me)) ELSE same) EXCEPT !.k = @ + 1]
        told(doubt) == IF won THEN [same EXCEPT !.st = "held", !.i = Len(me.names) + 1] ELSE next(doubt)
    IN
    /\ Together /\ me.st = "gets" /\ me.i = 1 /\ ~me.placed /\ ~me.asked
    /\ \/ srv' = all /\ cl' = [cl EXCEPT ![c] = told(FALSE)] /\ UNCHANGED strays /\ NoFault
       \/ srv' = all /\ cl' \in {[cl EXCEPT ![c] = told(TRUE)], [cl EXCEPT ![c] = next(TRUE)]}
          /\ strays' = strays \union {copy} /\ Fault
       \/ UNCHANGED srv /\ cl' = [cl EXCEPT ![c] = next(TRUE)] /\ strays' = strays \union {copy} /\ Fault
    /\ UNCHANGED <<mail, taken>>

\* An acquire for the next name, and then its heartbeats.
\* @lua heartbeat.lua @java BlockingDriver#ask
GetNext(c) ==
    LET me == [cl[c] EXCEPT !.asked = TRUE]
        n == Wanted(me)
        out == Acquire(srv[n], Me(c))
        copy == Ask(Me(c), n)
        told == IF out.ans = "QUEUED" THEN [me EXCEPT !.placed = TRUE] ELSE Settled(me)
    IN
    /\ me.st = "gets"
    /\ out.ans = "OK" => MaySettle(me)
    /\ \/ srv' = [srv EXCEPT ![n] = out.s] /\ cl' = [cl EXCEPT ![c] = told] /\ UNCHANGED strays /\ NoFault
       \/ srv' = [srv EXCEPT ![n] = out.s] /\ cl' \in {[cl EXCEPT ![c] = told], [cl EXCEPT ![c] = me]}
          /\ strays' = strays \union {copy} /\ Fault
       \/ UNCHANGED srv /\ cl' = [cl EXCEPT ![c] = me] /\ strays' = strays \union {copy} /\ Fault
    /\ Mail(n, srv[n], srv'[n], Me(c))
    /\ UNCHANGED taken

\* A message tells of a grant. It names the attempt and not the lock: so each name has an attempt of its own. That it is of
\* this very wait is what its date says: see Queue.
\* @lua line.lua @java Mailbox#deliver
Deliver(m) ==
    LET me == cl[m.id.c]
        waits == me.st = "gets" /\ me.k = m.id.k /\ me.placed
        matches == \/ m.n = Wanted(me) /\ srv[m.n].owner = m.id
                   \/ Broken = "oneAttempt"
    IN
    /\ mail' = mail \ {m}
    /\ cl' = IF waits /\ matches /\ MaySettle(me) THEN [cl EXCEPT ![m.id.c] = Settled(me)] ELSE cl
    /\ UNCHANGED <<srv, strays, taken, faults>>

\* Timed out, interrupted or cancelled: nothing of it stays, neither what it got nor the place of the next.
\* @lua leave.lua @java SeveralExits#giveBack
GiveUp(c) ==
    LET me == cl[c]
        names == CASE Broken = "partKept" -> {Wanted(me)} [] Broken = "placeKept" -> Got(me) [] OTHER -> NamesOf(me)
    IN
    /\ me.st = "gets"
    /\ cl' = [cl EXCEPT ![c] = Ended(me, "idle", names)]
    /\ UNCHANGED <<srv, mail, strays, taken, faults>>

\* @lua release.lua @java SeveralExits#release
Release(c) ==
    /\ cl[c].st = "held"
    /\ cl' = [cl EXCEPT ![c] = Ended(@, "idle", NamesOf(cl[c]))]
    /\ UNCHANGED <<srv, mail, strays, taken, faults>>

\* The deadline passes of a name that a call has.
\* @world
Pass(c) ==
    /\ cl[c].st \in {"gets", "held"} /\ Fault
    /\ \E n \in Got(cl[c]) \ cl[c].passed : cl' = [cl EXCEPT ![c].passed = @ \union {n}]
    /\ UNCHANGED <<srv, mail, strays, taken>>

\* One is found lost, by its deadline or because another has it: so all are, and what is left of them ends in Redis.
\* @lua leave.lua @java Losses#lose
Lose(c) ==
    LET me == cl[c]
        gone == {n \in Got(me) : n \in me.passed \/ srv[n].owner # Me(c)}
    IN
    /\ me.st \in {"gets", "held"} /\ gone # {}
    /\ cl' = [cl EXCEPT ![c] = Ended(me, "lost", IF Broken = "lostAlone" THEN gone ELSE NamesOf(me))]
    /\ UNCHANGED <<srv, mail, strays, taken, faults>>

\* @lua leave.lua @java PendingCommand#call
DoLeave(c) ==
    \E l \in cl[c].leaves :
        LET id == [c |-> c, k |-> l.k]
            late == {r \in strays : r.op # "leave" /\ r.id = id /\ InAll(r.names, l.n)}
            s == Leave(srv[l.n], id)
        IN
        /\ srv' = [srv EXCEPT ![l.n] = s] /\ Mail(l.n, srv[l.n], s, id)
        /\ cl' = IF late = {} THEN [cl EXCEPT ![c].leaves = @ \ {l}] ELSE cl
        /\ \/ UNCHANGED strays /\ NoFault
           \/ strays' = strays \union {End(id, l.n)} /\ Fault
        /\ UNCHANGED taken

\* The lease ends of a name whose deadline has passed. Nobody is told.
\* @world
Expire(n) ==
    /\ srv[n].owner # None
    /\ LET me == cl[srv[n].owner.c] IN me.k = srv[n].owner.k /\ n \in me.passed
    /\ srv' = [srv EXCEPT ![n].owner = None]
    /\ UNCHANGED <<cl, mail, strays, taken, faults>>

\* @lua force.lua @java LockQueries#forceUnlock
Force(n) ==
    /\ srv[n].owner # None /\ Fault
    /\ srv' = [srv EXCEPT ![n] = Grant(@)] /\ Mail(n, srv[n], srv'[n], None)
    /\ taken' = taken \union {srv[n].owner}
    /\ UNCHANGED <<cl, strays>>

-----------------------------------------------------------------------------

Init ==
    /\ srv = [n \in Names |-> [owner |-> None, line |-> <<>>]]
    /\ cl = [c \in Clients |-> [st |-> "idle", calls |-> 0, k |-> 0, names |-> <<>>, i |-> 1, placed |-> FALSE,
                                asked |-> FALSE, passed |-> {}, leaves |-> {}]]
    /\ mail = {} /\ strays = {} /\ taken = {} /\ faults = Faults

Next ==
    \/ \E n \in 1..2 : Expire(n) \/ Force(n)
    \/ \E m \in mail : Deliver(m)
    \/ \E r \in strays : RunLate(r) \/ TooLate(r)
    \/ \E c \in Clients : Begin(c) \/ TakeAll(c) \/ GetNext(c) \/ GiveUp(c) \/ Release(c) \/ Pass(c) \/ Lose(c) \/ DoLeave(c)

Symmetry == Permutations(Clients)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* What a call counts as held: not past the deadline of any of its names.
Holds(c) ==
    cl[c].st = "held" /\ (IF Broken = "lastDeadline" THEN Last(cl[c]) \notin cl[c].passed ELSE cl[c].passed = {})

\* Who says that it holds has all of them in Redis, unless one was forced.
Honest == \A c \in Clients : Holds(c) /\ Me(c) \notin taken => \A n \in NamesOf(cl[c]) : srv[n].owner = Me(c)

\* A call that reports success holds all: none was lost while it waited for the others.
Whole == [][\A c \in Clients : cl[c].st = "gets" /\ cl'[c].st = "held" => cl'[c].passed = {}]_vars

\* No two wait for each other, and none for itself.
WaitsFor(c, d) ==
    /\ cl[c].st = "gets" /\ cl[d].st = "gets"
    /\ LET n == Wanted(cl[c]) IN srv[n].owner = Me(d) /\ (n \in Got(cl[d]) \/ n # Wanted(cl[d]))
NoCycle == \A c, d \in Clients : ~(WaitsFor(c, d) /\ WaitsFor(d, c))

\* When nothing is under way, nothing is left of a call that is over.
Quiet(c) == cl[c].leaves = {} /\ \A r \in strays : r.op = "leave" \/ r.id.c # c
NoOrphan ==
    \A c \in Clients : cl[c].st \in {"idle", "lost"} /\ Quiet(c) =>
        \A n \in Names : srv[n].owner.c # c /\ \A i \in 1..Len(srv[n].line) : srv[n].line[i].c # c

=============================================================================
