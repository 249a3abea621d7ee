-------------------------------- MODULE Keep --------------------------------
(***************************************************************************)
(* A release that leaves the lock taken until a time: the hash gets an      *)
(* owner that is nobody, and its end by itself is no loss. How long is      *)
(* counted from the beginning of the hold, by Redis.                        *)
(*                                                                          *)
(* Time is a set of countdowns, as in Lease. A request runs and is answered *)
(* in one step, or by a fault runs late, or twice, at any time (a release   *)
(* or renewal), or until its time is over. Everything else that a lease     *)
(* needs is in Lease, and what a line needs in Queue.                       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,
    Attempts,   \* acquisitions per client
    Lease,
    For,        \* how long after its beginning a hold that is released may still keep the lock taken
    Timeout,    \* how long an acquisition is worth running: notAfter
    Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: hash, time to live, what is left of For since the hold began, the mark in the fence, the line
    cl,         \* the clients
    strays,     \* requests that may run, though nobody waits for an answer
    due,        \* how long the lock still has to be kept, since a release said so; 0 if it need not
    kept,       \* whether it is still what that release left
    good,       \* whether the last hold was released
    owed,       \* whether a hold was lost after its caller had it, and no holder has learned of it since
    wrong,      \* whether a holder got a loss reported that did not happen, or missed one
    faults      \* how many are left

vars == <<srv, cl, strays, due, kept, good, owed, wrong, faults>>

None == "none"
Nobody == "nobody"   \* a word that no owner can be
Max(x, y) == IF x > y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0

(***************************************************************************)
(* The scripts. Each gives an answer and a new state.                      *)
(***************************************************************************)

Out(ans, s) == [ans |-> ans, s |-> s]
Mine(s, r) == s.owner = r.c /\ s.a = r.a
Is(p, c, a) == p.c = c /\ p.a = a
HasPlace(s, c, a) == \E i \in 1..Len(s.line) : Is(s.line[i], c, a)
Dropped(s, c, a) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : ~Is(p, c, a))]
LineUp(s, r) == IF HasPlace(s, r.c, r.a) THEN s ELSE [s EXCEPT !.line = Append(@, [c |-> r.c, a |-> r.a])]
Extend(s, lease) == [s EXCEPT !.ttl = Max(@, lease)]

\* own in line.lua. The mark in the fence: "+" and "-" after a good end; none while it is held or was lost.
Own(s, c, a) ==
    [Dropped(s, c, a) EXCEPT !.owner = c, !.a = a, !.ttl = Lease, !.left = For, !.lost = s.mark = None, !.mark = None]
Gone(s) == [s EXCEPT !.owner = None, !.a = 0, !.ttl = 0, !.left = 0, !.lost = FALSE]
\* grant in line.lua, and remember: only a lock that is free, with nobody in line, has a "+".
Grant(s) ==
    IF s.line # <<>> THEN Own(Gone(s), Head(s.line).c, Head(s.line).a)
    ELSE [Gone(s) EXCEPT !.mark = IF @ = None THEN None ELSE "+"]

\* take.lua: takes the fence's word.
\* @lua take.lua @java Scripts#take
Take(s, r) ==
    IF r.na = 0 THEN Out("LATE", s)
    ELSE IF s.mark = "+" THEN Out("OK", Own(s, r.c, r.a))
    ELSE Out("LINE", s)

\* acquire.lua, with a place
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, r) ==
    IF r.na = 0 THEN Out("LATE", s)
    ELSE IF s.owner = None THEN Out("OK", Own(s, r.c, r.a))
    ELSE IF Mine(s, r) THEN Out("OK", Extend(s, Lease))
    ELSE Out("QUEUED", LineUp(s, r))

\* heartbeat.lua
\* @lua heartbeat.lua @java Scripts#heartbeat
Beat(s, r) ==
    LET won == Grant(LineUp(s, r)) IN
    IF r.na = 0 THEN Out("LATE", s)
    ELSE IF Mine(s, r) THEN Out("OK", Extend(s, Lease))
    ELSE IF s.owner = None THEN Out(IF Mine(won, r) THEN "OK" ELSE "QUEUED", won)
    ELSE Out("QUEUED", LineUp(s, r))

\* release_after.lua. What is kept ends when it has to: sooner than the lease, or later. It is not free, and has no "+".
\* Run again, it says KEPT, and changes nothing.
Kept(s, left) ==
    [s EXCEPT !.owner = IF Broken = "keptByOwner" THEN @ ELSE Nobody,
              !.ttl = IF Broken = "keptByLease" THEN Max(@, left) ELSE left,
              !.mark = CASE Broken = "keptUnmarked" -> None [] Broken = "keptFree" -> "+" [] OTHER -> "-",
              !.a = IF Broken = "keptByOwner" THEN @ ELSE 0,
              !.left = IF Broken = "keptByOwner" THEN @ ELSE 0,
              !.lost = FALSE]
\* release.lua, or this if the lock is to be kept.
\* @lua release_after.lua @java Scripts#releaseAfter
Release(s, r) ==
    LET left == IF Broken = "keptFromNow" THEN For ELSE s.left IN
    IF ~Mine(s, r) THEN Out("GONE", s)
    ELSE IF r.keep /\ left > 0 THEN Out("KEPT", Kept(s, left))
    ELSE Out("FREED", Grant([s EXCEPT !.mark = "-"]))

\* leave.lua: a hold that no caller had ends as released, but for the report of a loss.
\* @lua leave.lua @java Scripts#leave
Leave(s, r) ==
    LET left == Dropped(s, r.c, r.a) IN
    Out("DONE", IF Mine(s, r) THEN Grant([left EXCEPT !.mark = IF s.lost THEN None ELSE "-"]) ELSE left)

\* renew.lua
\* @lua renew.lua @java Scripts#renew
Renew(s, r) == IF Mine(s, r) THEN Out("OK", Extend(s, Lease)) ELSE Out("GONE", s)

\* force.lua: what is kept was released before.
Forced(s) == Grant([s EXCEPT !.mark = IF s.owner = Nobody /\ Broken # "forcedKept" THEN @ ELSE None])

Run(s, r) ==
    CASE r.op = "take" -> Take(s, r)
      [] r.op = "acquire" -> Acquire(s, r)
      [] r.op = "beat" -> Beat(s, r)
      [] r.op = "release" -> Release(s, r)
      [] r.op = "leave" -> Leave(s, r)
      [] r.op = "renew" -> Renew(s, r)

(***************************************************************************)
(* Requests                                                                *)
(***************************************************************************)

Asks == {"take", "acquire", "beat"}
Request(c, op, keep) ==
    [op |-> op, c |-> c, a |-> cl[c].a, keep |-> keep, na |-> IF op \in Asks THEN Timeout ELSE 0]

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults

Id(s) == <<s.owner, s.a>>
Free(s) == s.owner \in {None, Nobody}

\* What the promises say of the step from srv to s: how a hold ends, and what the next holder has to be told.
Follow(s, inOrder) ==
    LET ends == ~Free(srv) /\ Id(s) # Id(srv)
        begins == ~Free(s) /\ Id(s) # Id(srv)
        fine == IF ends THEN inOrder ELSE good
        \* A hold that its caller never had takes no news with it.
        debt == owed \/ (ends /\ ~inOrder /\ (srv.lost \/ srv.a \in cl[srv.owner].open))
    IN
    /\ good' = fine
    /\ owed' = (debt /\ ~begins)
    /\ wrong' = (wrong \/ (begins /\ IF s.lost THEN fine /\ ~debt ELSE debt))

Stays(s) == kept /\ (s.owner = Nobody \/ Id(s) = Id(srv))

Served(r) ==
    LET out == Run(srv, r)
        \* A leave that ends it first does what the release was to do, or breaks the promise.
        keeps == /\ Mine(srv, r) /\ srv.left > 0
                 /\ \/ r.op = "release" /\ r.keep
                    \/ r.op = "leave" /\ cl[r.c].st = "releasing" /\ cl[r.c].keep /\ cl[r.c].a = r.a
    IN
    /\ srv' = out.s
    /\ Follow(out.s, r.op = "release" \/ (r.op = "leave" /\ ~srv.lost))
    /\ due' = IF keeps THEN srv.left ELSE due
    /\ kept' = (keeps \/ Stays(out.s))

Ghosts == <<due, kept, good, owed, wrong>>

\* A request runs, and is answered, or not; or has not run. What has run once may run again.
Do(r, answered(_), unanswered) ==
    LET ans == Run(srv, r).ans IN
    \/ Served(r) /\ cl' = answered(ans) /\ UNCHANGED strays /\ NoFault
    \/ Served(r) /\ cl' \in {answered(ans), unanswered} /\ strays' = strays \union {r} /\ Fault
    \/ UNCHANGED <<srv, Ghosts>> /\ cl' = unanswered /\ strays' = strays \union {r} /\ Fault

\* @world
RunLate(r) == Served(r) /\ strays' = strays \ {r} /\ UNCHANGED <<cl, faults>>

(***************************************************************************)
(* The client                                                              *)
(***************************************************************************)

\* Each attempt is of an owner of its own, as with handles.
Held(c, left) == [cl EXCEPT ![c].st = "held", ![c].deadline = left, ![c].open = @ \union {cl[c].a}]
Asked(c, ans) ==
    CASE ans = "OK" -> Held(c, Lease) [] ans = "QUEUED" -> [cl EXCEPT ![c].st = "line"] [] OTHER -> cl
Over(c) == [cl EXCEPT ![c].st = "idle", ![c].deadline = 0]
Left(c) == [Over(c) EXCEPT ![c].leaves = @ \union {cl[c].a}]

\* @lua acquire.lua @java Attempts#begin
Begin(c) ==
    /\ cl[c].st = "idle" /\ cl[c].a < Attempts
    /\ cl' = [cl EXCEPT ![c].st = "asks", ![c].a = @ + 1, ![c].forced = FALSE]
    /\ UNCHANGED <<srv, strays, Ghosts, faults>>

\* @lua acquire.lua @java BlockingDriver#ask
Ask(c) ==
    /\ cl[c].st = "asks"
    /\ \E op \in {"take", "acquire"} : LET r == Request(c, op, FALSE) IN Do(r, LAMBDA ans : Asked(c, ans), cl)

\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
Wait(c) ==
    /\ cl[c].st = "line"
    /\ LET r == Request(c, "beat", FALSE) IN Do(r, LAMBDA ans : Asked(c, ans), cl)

\* A message tells of a grant, of which this is left.
\* @lua line.lua @java Mailbox#deliver
Told(c) ==
    /\ cl[c].st = "line" /\ srv.owner = c /\ srv.a = cl[c].a
    /\ cl' = Held(c, srv.ttl)
    /\ UNCHANGED <<srv, strays, Ghosts, faults>>

Holds(c) == cl[c].st = "held" /\ cl[c].deadline > 0

\* @lua renew.lua @java Renewal#call
Renewal(c) ==
    /\ Holds(c)
    /\ LET r == Request(c, "renew", FALSE) IN
        Do(r, LAMBDA ans : IF ans = "OK" THEN [cl EXCEPT ![c].deadline = Max(@, Lease)] ELSE Over(c), cl)

\* @lua - @java Exits#release
StartRelease(c) ==
    /\ Holds(c)
    /\ \E keep \in BOOLEAN :
        cl' = [cl EXCEPT ![c].st = "releasing", ![c].keep = keep, ![c].deadline = 0, ![c].open = @ \ {cl[c].a}]
    /\ UNCHANGED <<srv, strays, Ghosts, faults>>

\* Sent until it is answered; then a leave for what may still run.
\* @lua release.lua @java PendingCommand#call
Releases(c) ==
    /\ cl[c].st = "releasing"
    /\ LET r == Request(c, "release", cl[c].keep) IN Do(r, LAMBDA ans : Left(c), cl)

\* @lua - @java Losses#isValid
Lapse(c) ==
    /\ cl[c].st = "held" /\ cl[c].deadline = 0
    /\ cl' = Over(c)
    /\ UNCHANGED <<srv, strays, Ghosts, faults>>

\* @lua leave.lua @java Acquisitions.OfLock#next
GiveUp(c) ==
    /\ cl[c].st \in {"asks", "line"}
    /\ cl' = Left(c)
    /\ UNCHANGED <<srv, strays, Ghosts, faults>>

\* Sent until nothing of its attempt can run any more; but not before a release of it is answered: it keeps nothing.
\* @lua leave.lua @java PendingCommand#call
LeaveLater(c) ==
    \E a \in cl[c].leaves \union (IF Broken = "leaveFirst" /\ cl[c].st = "releasing" THEN {cl[c].a} ELSE {}) :
        LET late == {s \in strays : s.op \in Asks /\ s.c = c /\ s.a = a} IN
        /\ Served([Request(c, "leave", FALSE) EXCEPT !.a = a])
        /\ cl' = IF late = {} THEN [cl EXCEPT ![c].leaves = @ \ {a}] ELSE cl
        /\ UNCHANGED <<strays, faults>>

\* An operator ends what there is.
\* @lua force.lua @java LockQueries#forceUnlock
Force ==
    /\ srv.owner # None /\ Fault
    /\ srv' = Forced(srv)
    /\ cl' = IF Free(srv) THEN cl ELSE [cl EXCEPT ![srv.owner].forced = @ \/ srv.a = cl[srv.owner].a]
    /\ Follow(srv', FALSE) /\ due' = 0 /\ kept' = FALSE
    /\ UNCHANGED strays

\* @world
Tick ==
    /\ srv' = IF srv.ttl = 1 THEN Gone(srv) ELSE [srv EXCEPT !.ttl = Less(@), !.left = Less(@)]
    /\ cl' = [c \in Clients |-> [cl[c] EXCEPT !.deadline = Less(@)]]
    /\ strays' = {r \in {[s EXCEPT !.na = Less(@)] : s \in strays} : r.op \notin Asks \/ r.na > 0}
    /\ due' = Less(due) /\ kept' = Stays(srv')
    /\ Follow(srv', FALSE)
    /\ UNCHANGED faults

-----------------------------------------------------------------------------

Init ==
    /\ srv = [owner |-> None, a |-> 0, ttl |-> 0, left |-> 0, mark |-> "+", lost |-> FALSE, line |-> <<>>]
    /\ cl = [c \in Clients |-> [st |-> "idle", a |-> 0, keep |-> FALSE, deadline |-> 0, leaves |-> {}, open |-> {},
                                forced |-> FALSE]]
    /\ strays = {} /\ due = 0 /\ kept = FALSE /\ good = TRUE /\ owed = FALSE /\ wrong = FALSE /\ faults = Faults

Next ==
    \/ Tick \/ Force
    \/ \E r \in strays : RunLate(r)
    \/ \E c \in Clients :
        \/ Begin(c) \/ Ask(c) \/ Wait(c) \/ Told(c) \/ Renewal(c) \/ StartRelease(c) \/ Releases(c) \/ Lapse(c) \/ GiveUp(c)
        \/ LeaveLater(c)

Symmetry == Permutations(Clients)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* Whoever is within its deadline is the owner in Redis, unless it was forced.
Honest == \A c \in Clients : Holds(c) /\ ~cl[c].forced => Id(srv) = <<c, cl[c].a>>

\* Until its time, a lock that is kept is nobody's, whatever else runs; forceUnlock apart.
NotSooner == due > 0 => kept /\ srv.owner # None /\ \A c \in Clients : Holds(c) => cl[c].forced

\* And no longer.
NotLonger == kept \/ srv.owner = Nobody => srv.ttl <= due

\* The next holder learns of a loss if and only if there was one: a kept lock that ended or was forced was released.
TrueNews == ~wrong

=============================================================================
