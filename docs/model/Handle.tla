------------------------------- MODULE Handle -------------------------------
(***************************************************************************)
(* Handles: holds of no thread. Each is an owner of its own, of one attempt *)
(* only; any thread may cancel its acquisition, release it, or find that it *)
(* is lost, while requests of it are under way. What decides is one verdict *)
(* for the acquisition and one for the end, each taken once.                *)
(*                                                                          *)
(* No time, as in Succession: what is dated may end unrun at any moment. A  *)
(* deadline that passes comes before the lease that ends. How grants are    *)
(* dated is the matter of Queue. Each copy, lost answer, deadline that      *)
(* passes and forced end costs one of Faults.                               *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Handles,    \* how many handles of one client there are
    Rivals,     \* how often another client's owner queues
    Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the attempt that is the owner, and those that have a place, in order
    at,         \* the attempts, one for each handle
    wire,       \* requests under way, of which the answer is waited for
    strays,     \* copies of requests that may run, though nobody waits for an answer
    taken,      \* whose hold ended in Redis without a release or leave
    rivals,     \* how often the rival may still queue
    faults      \* how many are left

vars == <<srv, at, wire, strays, taken, rivals, faults>>

Nobody == 0
Rival == Handles + 1
Mine == 1..Handles

(***************************************************************************)
(* The scripts                                                             *)
(***************************************************************************)

\* client id:h<number>. The thread that acquires a handle is not its owner: it may acquire another.
OwnerOf(a) == IF Broken = "threadOwner" /\ a # Rival THEN Nobody ELSE a

Out(ans, s) == [ans |-> ans, s |-> s]
HasPlace(s, a) == \E i \in 1..Len(s.line) : s.line[i] = a
Dropped(s, a) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : p # a)]
LineUp(s, a) == IF HasPlace(s, a) THEN s ELSE [s EXCEPT !.line = Append(@, a)]
Grant(s) ==
    IF s.line = <<>> THEN [s EXCEPT !.owner = Nobody] ELSE [s EXCEPT !.owner = Head(s.line), !.line = Tail(s.line)]

\* acquire.lua, mode barge
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, a) ==
    IF s.owner = a THEN Out("GRANTED", s)
    ELSE IF s.owner = Nobody \/ (OwnerOf(s.owner) = OwnerOf(a) /\ s.owner < a)
         THEN Out("GRANTED", [Dropped(s, a) EXCEPT !.owner = a])
    ELSE Out("QUEUED", LineUp(s, a))

\* heartbeat.lua
\* @lua heartbeat.lua @java Scripts#heartbeat
Beat(s, a) ==
    LET lined == LineUp(s, a)
        won == IF s.owner = Nobody THEN Grant(lined) ELSE lined
    IN IF s.owner = a THEN Out("GRANTED", s) ELSE Out(IF won.owner = a THEN "GRANTED" ELSE "QUEUED", won)

\* release.lua
\* @lua release.lua @java Scripts#release
Release(s, a) == IF s.owner = a THEN Out("FREED", Grant(s)) ELSE Out("GONE", s)

\* leave.lua
\* @lua leave.lua @java Scripts#leave
Leave(s, a) == Out("DONE", IF s.owner = a THEN Grant(s) ELSE Dropped(s, a))

Run(s, r) ==
    CASE r.op = "acquire" -> Acquire(s, r.a)
      [] r.op = "beat" -> Beat(s, r.a)
      [] r.op = "release" -> Release(s, r.a)
      [] r.op = "leave" -> Leave(s, r.a)

(***************************************************************************)
(* Requests                                                                *)
(***************************************************************************)

\* By: which of the threads that release sends it. Resent: whether it was sent more than once, as far as its sender knows.
Sent(op, a, by) == [op |-> op, a |-> a, by |-> by, st |-> "sent", ans |-> "", resent |-> FALSE]
Copy(op, a) == [op |-> op, a |-> a]

Dated == {"acquire", "beat"}
UnderWay(a) == {r \in wire : r.a = a /\ r.op \in Dated}
MayRun(a) == {s \in strays : s.a = a /\ s.op \in Dated} \union {r \in UnderWay(a) : r.st = "sent"}

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults

\* @world
RunLate(s) ==
    /\ srv' = Run(srv, s).s
    /\ strays' = strays \ {s}
    /\ UNCHANGED <<at, wire, taken, rivals, faults>>

\* Its time is over: notAfter.
\* @world
TooLate(s) ==
    /\ s.op \in Dated
    /\ strays' = strays \ {s}
    /\ UNCHANGED <<srv, at, wire, taken, rivals, faults>>

\* Redis runs a request; the transport may have sent it twice.
\* @lua line.lua @java MonitoredRedis#run
Serve(r) ==
    LET out == Run(srv, r)
        ran(resent) == (wire \ {r}) \union {[r EXCEPT !.st = "ran", !.ans = out.ans, !.resent = @ \/ resent]}
    IN
    /\ r.st = "sent"
    /\ srv' = out.s
    /\ \/ wire' = ran(FALSE) /\ UNCHANGED strays /\ NoFault
       \/ wire' = ran(TRUE) /\ strays' = strays \union {Copy(r.op, r.a)} /\ Fault
    /\ UNCHANGED <<at, taken, rivals>>

(***************************************************************************)
(* The acquisition                                                         *)
(***************************************************************************)

Alive(me) == me.st \in {"pending", "granted", "held", "releasing"}
LeaveDue(me) == [me EXCEPT !.leave = "due"]

\* The client reports the grant by completing the stage, which the caller may have cancelled: the first of both decides. After
\* the end of a hold in doubt, a leave follows.
Won(me) ==
    LET m == [me EXCEPT !.st = IF Broken = "twoVerdicts" THEN "granted" ELSE "held"] IN
    IF m.doubt THEN LeaveDue(m) ELSE m

\* What a request has brought, or may bring, to an attempt that has its verdict already.
After(me) == IF Broken = "cancelledAnswer" THEN me ELSE LeaveDue(me)

\* @lua acquire.lua @java Attempts#begin
Begin(a) ==
    /\ at[a].st = "new" /\ \A b \in Mine : b < a => at[b].st # "new"
    /\ at' = [at EXCEPT ![a].st = "pending"]
    /\ wire' = wire \union {Sent("acquire", a, 1)}
    /\ UNCHANGED <<srv, strays, taken, rivals, faults>>

\* An acquire until it has a place, then a heartbeat.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
Ask(a) ==
    /\ at[a].st = "pending" /\ UnderWay(a) = {}
    /\ wire' = wire \union {Sent(IF at[a].placed THEN "beat" ELSE "acquire", a, 1)}
    /\ UNCHANGED <<srv, at, strays, taken, rivals, faults>>

\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Answered(r) ==
    LET me == [at[r.a] EXCEPT !.doubt = @ \/ r.resent] IN
    /\ r.op \in Dated /\ r.st = "ran"
    /\ wire' = wire \ {r}
    /\ at' = [at EXCEPT ![r.a] =
        CASE me.st = "pending" /\ r.ans = "GRANTED" -> Won(me)
          [] me.st = "pending" /\ r.ans = "QUEUED" -> [me EXCEPT !.placed = TRUE]
          [] me.st = "held" /\ r.ans = "GRANTED" /\ ~me.doubt -> me
          [] OTHER -> After(me)]
    /\ UNCHANGED <<srv, strays, taken, rivals, faults>>

\* A request or its answer is lost. It is asked again, but for an attempt that has its verdict.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#failed
Unanswered(r) ==
    LET me == [at[r.a] EXCEPT !.doubt = TRUE] IN
    /\ r.op \in Dated /\ Fault
    /\ wire' = wire \ {r}
    /\ strays' = strays \union (IF r.st = "sent" THEN {Copy(r.op, r.a)} ELSE {})
    /\ at' = [at EXCEPT ![r.a] = IF me.st = "pending" THEN me ELSE After(me)]
    /\ UNCHANGED <<srv, taken, rivals>>

\* A message tells of the grant.
\* @lua line.lua @java Mailbox#deliver
Told(a) ==
    /\ srv.owner = a /\ at[a].st = "pending"
    /\ at' = [at EXCEPT ![a] = Won(@)]
    /\ UNCHANGED <<srv, wire, strays, taken, rivals, faults>>

\* What is not done: the grant has decided, and the stage is completed after that.
\* @lua - @java Attempt#decide
Complete(a) ==
    /\ at[a].st = "granted"
    /\ at' = [at EXCEPT ![a].st = "held"]
    /\ UNCHANGED <<srv, wire, strays, taken, rivals, faults>>

\* The stage is cancelled, times out, or its client closes. Its leave is sent at once; so it is of an attempt of which a
\* request is under way, and sent again after that. Of a grant that had decided before, nobody has the handle.
\* @lua leave.lua @java BatchDriver#cancel
Cancel(a) ==
    /\ at[a].st \in {"pending", "granted"}
    /\ at' = [at EXCEPT ![a] = IF @.st = "pending" THEN LeaveDue([@ EXCEPT !.st = "over"]) ELSE [@ EXCEPT !.st = "dropped"]]
    /\ UNCHANGED <<srv, wire, strays, taken, rivals, faults>>

\* Sent again when nothing of its attempt can run any more. A copy of it may run again.
\* @lua leave.lua @java PendingCommand#call
LeaveLater(a) ==
    LET me == at[a]
        more == (me.doubt /\ MayRun(a) # {})
    IN
    /\ me.leave = "due" \/ (me.leave = "late" /\ MayRun(a) = {})
    /\ ~Alive(me)
    /\ srv' = Leave(srv, a).s
    /\ at' = [at EXCEPT ![a].leave = IF more THEN "late" ELSE "no"]
    /\ \/ UNCHANGED strays /\ NoFault
       \/ strays' = strays \union {Copy("leave", a)} /\ Fault
    /\ UNCHANGED <<wire, taken, rivals>>

(***************************************************************************)
(* The end                                                                 *)
(***************************************************************************)

\* The first thread that releases has decided how the hold ends. To all others it is released, or will be.
\* @lua release.lua @java Exits#release
StartRelease(a) ==
    \E by \in {1, 2} :
        /\ by = 2 => at[a].releases = 1
        /\ at[a].st = "held" \/ (Broken = "bothRelease" /\ at[a].st = "releasing")
        /\ at[a].releases < by
        /\ at' = [at EXCEPT ![a].st = "releasing", ![a].releases = by]
        /\ wire' = wire \union {Sent("release", a, by)}
        /\ UNCHANGED <<srv, strays, taken, rivals, faults>>

\* A release that finds nothing was too late, unless an earlier copy of it may have run.
\* @lua release.lua @java Exits#handOn
Released(r) ==
    LET lost == r.ans = "GONE" /\ (~r.resent \/ Broken = "goneIsLost") IN
    /\ r.op = "release" /\ r.st = "ran"
    /\ wire' = wire \ {r}
    /\ at' = [at EXCEPT ![r.a].st = IF lost THEN "lost" ELSE "over",
                        ![r.a].told = @ \union {IF lost THEN "lost" ELSE "released"}]
    /\ UNCHANGED <<srv, strays, taken, rivals, faults>>

\* The same release is sent again, whether it has run or not.
\* @lua - @java PendingCommand#failed
ReleaseAgain(r) ==
    /\ r.op = "release" /\ Fault
    /\ wire' = (wire \ {r}) \union {[r EXCEPT !.st = "sent", !.ans = "", !.resent = TRUE]}
    /\ strays' = strays \union (IF r.st = "sent" THEN {Copy(r.op, r.a)} ELSE {})
    /\ UNCHANGED <<srv, at, taken, rivals>>

\* The deadline passes; nobody calls it held any more.
\* @world
Pass(a) ==
    /\ at[a].st \in {"held", "releasing"} /\ ~at[a].passed /\ Fault
    /\ at' = [at EXCEPT ![a].passed = TRUE]
    /\ UNCHANGED <<srv, wire, strays, taken, rivals>>

\* The watchdog, or a caller, finds that the deadline has passed; or a renewal or message reports that the lock is taken. If
\* no release has begun, the hold is lost.
\* @lua renew.lua @java Losses#lose
Lose(a) ==
    /\ at[a].passed \/ srv.owner # a
    /\ \/ at[a].st = "held" /\ at' = [at EXCEPT ![a].st = "lost", ![a].told = @ \union {"lost"}]
       \/ /\ Broken = "twoEnds" /\ at[a].st = "releasing" /\ at[a].passed
          /\ at' = [at EXCEPT ![a].told = @ \union {"lost"}]
    /\ UNCHANGED <<srv, wire, strays, taken, rivals, faults>>

\* @world
Expire ==
    /\ srv.owner \in Mine /\ at[srv.owner].passed
    /\ srv' = [srv EXCEPT !.owner = Nobody]
    /\ taken' = taken \union {srv.owner}
    /\ UNCHANGED <<at, wire, strays, rivals, faults>>

\* @lua force.lua @java LockQueries#forceUnlock
Force ==
    /\ srv.owner \in Mine /\ Fault
    /\ srv' = Grant(srv)
    /\ taken' = taken \union {srv.owner}
    /\ UNCHANGED <<at, wire, strays, rivals>>

\* The rival asks, releases, finds a free lock by its heartbeat, or goes.
\* @world
Other ==
    /\ IF srv.owner = Rival THEN srv' = Grant(srv) /\ UNCHANGED rivals
       ELSE IF HasPlace(srv, Rival)
       THEN srv' = (IF srv.owner = Nobody THEN Grant(srv) ELSE Dropped(srv, Rival)) /\ UNCHANGED rivals
       ELSE /\ rivals > 0 /\ rivals' = rivals - 1
            /\ srv' = IF srv.owner = Nobody THEN [srv EXCEPT !.owner = Rival] ELSE LineUp(srv, Rival)
    /\ UNCHANGED <<at, wire, strays, taken, faults>>

-----------------------------------------------------------------------------

Init ==
    /\ srv = [owner |-> Nobody, line |-> <<>>]
    /\ at = [a \in Mine |-> [st |-> "new", placed |-> FALSE, doubt |-> FALSE, leave |-> "no", releases |-> 0,
                             passed |-> FALSE, told |-> {}]]
    /\ wire = {} /\ strays = {} /\ taken = {} /\ rivals = Rivals /\ faults = Faults

Next ==
    \/ Other \/ Expire \/ Force
    \/ \E a \in 1..Handles :
        \/ Begin(a) \/ Ask(a) \/ Told(a) \/ Complete(a) \/ Cancel(a) \/ LeaveLater(a)
        \/ StartRelease(a) \/ Pass(a) \/ Lose(a)
    \/ \E r \in wire : Serve(r) \/ Answered(r) \/ Unanswered(r) \/ Released(r) \/ ReleaseAgain(r)
    \/ \E s \in strays : RunLate(s) \/ TooLate(s)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* A handle that says that it is held is the owner in Redis, unless it was forced. So at most one does.
Honest == \A a \in Mine : at[a].st = "held" /\ ~at[a].passed /\ a \notin taken => srv.owner = a

\* Nothing is under way but, perhaps, copies of releases and leaves.
Quiet ==
    /\ wire = {} /\ \A s \in strays : s.op \notin Dated
    /\ \A a \in Mine : at[a].leave = "no" \/ Alive(at[a])

\* Then nothing is left in Redis of an attempt that was cancelled or released.
NoOrphan == Quiet => \A a \in Mine : at[a].st \in {"over", "dropped"} => srv.owner # a /\ ~HasPlace(srv, a)

\* A handle ends once: it was released or it was lost, and nobody is told both.
OneEnd == \A a \in Mine : Cardinality(at[a].told) < 2

\* No loss is reported that did not happen.
TrueLoss == \A a \in Mine : "lost" \in at[a].told => a \in taken \/ at[a].passed

=============================================================================
