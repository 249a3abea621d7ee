----------------------------- MODULE Succession -----------------------------
(***************************************************************************)
(* Who of one client has its turn next, and what an attempt that is over    *)
(* may leave in Redis: one lock, the threads of one client in its queue,    *)
(* and a rival in another client. A request is sent, runs, is answered; it  *)
(* may run late, or twice, and its answer may be lost. Release and leave    *)
(* name the first thread that waits as successor, which may go meanwhile.   *)
(*                                                                          *)
(* No time: a request of an acquire or a heartbeat that nobody waits for    *)
(* may end unrun at any moment (notAfter), a release or a leave never does. *)
(* Each copy, each answer lost and each lease that ends costs one of Faults.*)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Threads,    \* of the client
    Outside,    \* those of them that do not pass the local queue: by a fair lock of the same name, or tryLock()
    Attempts,   \* calls of tryLock(time) of all threads together: each may give up at any time
    Waits,      \* how many of them are waits in a Condition instead, each for a hold that it gives up
    Rivals,     \* how often the rival queues
    Faults,
    Key,        \* what a place in line is of: "attempt", or "thread" as it once was
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the attempt that is the owner, those that have a place, in order, and those in the Condition
    at,         \* the attempts
    local,       \* who of the client has the turn, and who waits for it, in order
    reqs,       \* releases and leaves under way that hand a turn on
    strays,     \* copies of requests that may run, though nobody waits for an answer
    rivals,     \* how often the rival may still queue
    faults      \* how many are left

vars == <<srv, at, local, reqs, strays, rivals, faults>>

Nobody == 0
Rival == Attempts + 1
Mine == 1..Attempts

(***************************************************************************)
(* The scripts. Each gives an answer and a new state.                      *)
(***************************************************************************)

\* The attempt that waits in the Condition for the hold of this one.
Waiting(a) == CHOOSE b \in Mine : at[b].of = a
ThreadOf(a) == IF a = Rival THEN "rival" ELSE at[a].thread

\* Whether a place is the one of this attempt, as Redis finds it.
Same(p, a) == IF Key = "thread" THEN ThreadOf(p) = ThreadOf(a) ELSE p = a

Out(ans, s) == [ans |-> ans, s |-> s]
Places(s, a) == {i \in 1..Len(s.line) : Same(s.line[i], a)}
HasPlace(s, a) == Places(s, a) # {}
Dropped(s, a) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : ~Same(p, a))]

\* line_up in line.lua
LineUp(s, a) ==
    IF \E i \in 1..Len(s.line) : s.line[i] = a THEN s ELSE [s EXCEPT !.line = Append(Dropped(s, a).line, a)]

\* Whether Redis knows of a later attempt of the same thread; a matter of places by thread only.
Stale(s, a) ==
    Key = "thread" /\ \/ \E i \in Places(s, a) : s.line[i] > a
                      \/ s.owner \in Mine /\ ThreadOf(s.owner) = ThreadOf(a) /\ s.owner > a

\* grant in line.lua: the first place is the owner, by its own attempt.
Grant(s) ==
    IF s.line = <<>> THEN [s EXCEPT !.owner = Nobody] ELSE [s EXCEPT !.owner = Head(s.line), !.line = Tail(s.line)]

\* pass_on in succession.lua
PassOn(s, successor, keep) ==
    LET \* By thread, an older place of the successor has to go before it is found.
        t == IF Key = "thread" /\ successor # Nobody /\ ~(\E i \in 1..Len(s.line) : s.line[i] = successor) /\ Broken # "olderPlace"
             THEN Dropped(s, successor) ELSE s
        won == IF successor = Nobody \/ ~keep THEN Grant(t) ELSE [t EXCEPT !.owner = Nobody]
    IN
    IF won.owner = Nobody
    THEN IF successor = Nobody THEN Out("FREED", won) ELSE Out("SUCCEEDED", [Dropped(won, successor) EXCEPT !.owner = successor])
    ELSE IF successor = Nobody THEN Out("GRANTED", won)
    ELSE IF Same(won.owner, successor) THEN Out("SUCCEEDED", won)
    ELSE Out("QUEUED", LineUp(won, successor))

\* done_before in succession.lua
DoneBefore(s, successor, otherwise) ==
    IF successor = Nobody THEN Out(otherwise, s)
    ELSE IF s.owner = successor THEN Out("SUCCEEDED", s)
    ELSE IF \E i \in 1..Len(s.line) : s.line[i] = successor THEN Out("QUEUED", s)
    ELSE Out(otherwise, s)

\* acquire.lua, mode barge
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, r) ==
    LET own == [Dropped(s, r.a) EXCEPT !.owner = r.a] IN
    IF Stale(s, r.a) /\ Broken # "staleAsk" THEN Out("STALE", s)
    ELSE IF s.owner = r.a THEN Out("OK", s)
    ELSE IF s.owner = Nobody THEN Out("OK", own)
    \* What an earlier attempt of the thread left behind: the thread knows nothing of it.
    ELSE IF ThreadOf(s.owner) = ThreadOf(r.a) /\ s.owner < r.a THEN Out("OK", own)
    ELSE Out("QUEUED", LineUp(s, r.a))

\* heartbeat.lua
\* @lua heartbeat.lua @java Scripts#heartbeat
Beat(s, r) ==
    LET won == Grant(LineUp(s, r.a)) IN
    IF s.owner = r.a THEN Out("GRANTED", s)
    ELSE IF r.a \in s.cond THEN Out("WAITING", s)
    ELSE IF Stale(s, r.a) /\ Broken # "staleBeat" THEN Out("STALE", s)
    ELSE IF s.owner # Nobody THEN Out("QUEUED", LineUp(s, r.a))
    ELSE Out(IF won.owner = r.a THEN "GRANTED" ELSE "QUEUED", won)

\* release.lua
\* @lua release.lua @java Scripts#release
Release(s, r) == IF s.owner = r.a THEN PassOn(s, r.successor, r.keep) ELSE DoneBefore(s, r.successor, "GONE")

\* leave.lua
\* @lua leave.lua @java Scripts#leave
Leave(s, r) ==
    LET mine == {i \in Places(s, r.a) : s.line[i] = r.a \/ Broken = "leavesOlder"}
        given(p) == IF p \in mine THEN r.successor ELSE s.line[p]
        left == IF mine = {} THEN s
                ELSE IF r.successor # Nobody /\ ~HasPlace(s, r.successor) THEN [s EXCEPT !.line = [p \in 1..Len(@) |-> given(p)]]
                ELSE [s EXCEPT !.line = SelectSeq(@, LAMBDA p : ~(p = r.a \/ (Broken = "leavesOlder" /\ Same(p, r.a))))]
        out == [left EXCEPT !.cond = @ \ {r.a}]
    IN
    IF s.owner = r.a THEN PassOn(out, r.successor, FALSE) ELSE DoneBefore(out, r.successor, "DONE")

\* await.lua: the attempt of the hold has the next as the one that waits.
\* @lua await.lua @java Scripts#await
Await(s, r) ==
    LET waiting == Waiting(r.a) IN
    IF s.owner = r.a THEN PassOn([s EXCEPT !.cond = @ \union {waiting}], r.successor, r.keep)
    ELSE IF s.owner = waiting \/ waiting \in s.cond \/ HasPlace(s, waiting) THEN DoneBefore(s, r.successor, "WAITING")
    ELSE Out("GONE", s)

\* rejoin.lua, without its answer SIGNALLED: for that see Condition.
\* @lua rejoin.lua @java Scripts#rejoin
Rejoin(s, r) ==
    LET left == [s EXCEPT !.cond = @ \ {r.a}]
        won == Grant(LineUp(left, r.a))
    IN
    IF s.owner = r.a THEN Out("GRANTED", s)
    ELSE IF s.owner # Nobody THEN Out("QUEUED", LineUp(left, r.a))
    ELSE Out(IF won.owner = r.a THEN "GRANTED" ELSE "QUEUED", won)

Run(s, r) ==
    CASE r.op = "acquire" -> Acquire(s, r)
      [] r.op = "beat" -> Beat(s, r)
      [] r.op = "release" -> Release(s, r)
      [] r.op = "leave" -> Leave(s, r)
      [] r.op = "await" -> Await(s, r)
      [] r.op = "rejoin" -> Rejoin(s, r)

(***************************************************************************)
(* Requests. Acquire and heartbeat run and are answered in one step, unless *)
(* a fault comes between: what happens while they are under way is as if    *)
(* they were sent later. Release and leave that hand a turn on are not.     *)
(***************************************************************************)

Copy(op, a, successor, keep) == [op |-> op, a |-> a, successor |-> successor, keep |-> keep]
\* A request whose answer hands the turn on.
Handing(op, a, successor, turn, keep) ==
    [op |-> op, a |-> a, successor |-> successor, turn |-> turn, keep |-> keep, st |-> "sent", ans |-> "", more |-> FALSE]

Dated == {"acquire", "beat", "rejoin"} \union (IF Broken = "awaitUndated" THEN {} ELSE {"await"})
\* An await is a request of the attempt that waits; if it has no date, then that has the doubt of the hold.
Of(s) == IF s.op = "await" THEN Waiting(s.a) ELSE s.a
Before(me) == IF Broken = "awaitUndated" THEN me.of ELSE Nobody
MayRun(a) == {s \in strays : s.op \in Dated /\ (Of(s) = a \/ s.a = Before(at[a]))}
MayHaveRun(me) == me.doubt \/ (Before(me) # Nobody /\ at[Before(me)].doubt)

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults

\* @world
RunLate(s) ==
    /\ srv' = Run(srv, s).s
    /\ strays' = strays \ {s}
    /\ UNCHANGED <<at, local, reqs, rivals, faults>>

\* Its time is over: notAfter.
\* @world
TooLate(s) ==
    /\ s.op \in Dated
    /\ strays' = strays \ {s}
    /\ UNCHANGED <<srv, at, local, reqs, rivals, faults>>

(***************************************************************************)
(* The client                                                              *)
(***************************************************************************)

Alive(a) == at[a].st \notin {"new", "over", "lost"}
Over(me) == [me EXCEPT !.st = "over", !.known = FALSE, !.told = FALSE, !.unsure = FALSE]

\* The local queue once this attempt's turn has ended, and the attempts: the first that waits has the turn, and will ask.
ExitLocal(a) ==
    IF local.turn # a THEN local
    ELSE IF local.line = <<>> THEN [local EXCEPT !.turn = Nobody]
    ELSE [turn |-> Head(local.line), line |-> Tail(local.line)]
Exits(next, a) == IF local.turn = a /\ local.line # <<>> THEN [next EXCEPT ![Head(local.line)].st = "turn"] ELSE next

FirstLocal(a) == IF local.turn = a /\ local.line # <<>> THEN Head(local.line) ELSE Nobody
InDoubt(me) == MayHaveRun(me) \/ (me.beat /\ Broken # "beatAnswered")
Named(next, successor) == IF successor = Nobody THEN next ELSE [next EXCEPT ![successor].known = TRUE]

\* A leave without a successor is to be sent: once the hold of the attempt has ended.
LeaveDue(me) == [me EXCEPT !.leave = "due"]

\* @lua - @java LocalQueue#enter
Begin(t) ==
    \E a \in Mine :
        /\ at[a].st = "new" /\ \A b \in Mine : b < a => at[b].st # "new"
        /\ \A b \in Mine : at[b].thread = t => ~Alive(b)
        /\ at' = [at EXCEPT ![a].thread = t, ![a].st = IF local.turn = Nobody \/ t \in Outside THEN "turn" ELSE "behind"]
        /\ local' = IF t \in Outside THEN local
                   ELSE IF local.turn = Nobody THEN [local EXCEPT !.turn = a]
                   ELSE [local EXCEPT !.line = Append(@, a)]
        /\ UNCHANGED <<srv, reqs, strays, rivals, faults>>

\* The hold begins. What may still run is followed by a leave; and such a hold names no successor.
Settled(me) ==
    [me EXCEPT !.st = "held", !.told = FALSE, !.unsure = InDoubt(me), !.leave = IF MayHaveRun(me) THEN "due" ELSE @]

\* An acquire is answered; or is answered on its second copy, while the first may run; or is not answered, and has run or not.
\* @lua acquire.lua @java BlockingDriver#ask
Ask(a) ==
    LET copy == Copy("acquire", a, Nobody, FALSE)
        out == Run(srv, copy)
        known == [at[a] EXCEPT !.known = TRUE, !.told = FALSE]
        me(doubt) == LET m == [known EXCEPT !.doubt = @ \/ doubt] IN
            CASE out.ans = "OK" -> Settled(m) [] out.ans = "QUEUED" -> [m EXCEPT !.st = "line"] [] OTHER -> m
    IN
    /\ at[a].st = "turn"
    /\ \/ srv' = out.s /\ at' = [at EXCEPT ![a] = me(FALSE)] /\ UNCHANGED strays /\ NoFault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a] = me(Broken # "copyForgotten")] /\ strays' = strays \union {copy} /\ Fault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a] = [known EXCEPT !.doubt = TRUE]] /\ UNCHANGED strays /\ Fault
       \/ UNCHANGED srv /\ at' = [at EXCEPT ![a] = [known EXCEPT !.doubt = TRUE]] /\ strays' = strays \union {copy} /\ Fault
    /\ UNCHANGED <<local, reqs, rivals>>

\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
StartBeat(a) ==
    /\ at[a].st \in {"line", "waits"} /\ ~at[a].beat
    /\ at' = [at EXCEPT ![a].beat = TRUE]
    /\ UNCHANGED <<srv, local, reqs, strays, rivals, faults>>

\* As an acquire; but its attempt may have ended meanwhile, or have its hold already.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
EndBeat(a) ==
    LET copy == Copy("beat", a, Nobody, FALSE)
        out == Run(srv, copy)
        me(doubt) == LET m == [at[a] EXCEPT !.beat = FALSE, !.doubt = @ \/ doubt] IN
            IF m.st \notin {"line", "waits"} THEN IF Broken = "endedBeat" THEN m ELSE LeaveDue(m) ELSE m
        answered(doubt) ==
            IF at[a].st \notin {"line", "waits"} \/ out.ans = "WAITING" THEN me(doubt)
            ELSE IF out.ans = "GRANTED" THEN Settled(me(doubt))
            ELSE [me(doubt) EXCEPT !.st = "line"]
    IN
    /\ at[a].beat
    /\ \/ srv' = out.s /\ at' = [at EXCEPT ![a] = answered(FALSE)] /\ UNCHANGED strays /\ NoFault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a] = answered(Broken # "copyForgotten")] /\ strays' = strays \union {copy} /\ Fault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a] = me(TRUE)] /\ UNCHANGED strays /\ Fault
       \/ UNCHANGED srv /\ at' = [at EXCEPT ![a] = me(TRUE)] /\ strays' = strays \union {copy} /\ Fault
    /\ UNCHANGED <<local, reqs, rivals>>

\* A message tells of a grant. Who waits in the local queue has no date for it, and waits for the turn.
\* @lua line.lua @java Mailbox#deliver
Told(a) ==
    /\ srv.owner = a
    /\ \/ at[a].st \in {"line", "waits"} /\ at' = [at EXCEPT ![a] = Settled(@)]
       \/ at[a].st = "behind" /\ ~at[a].told /\ at' = [at EXCEPT ![a].told = TRUE]
    /\ UNCHANGED <<srv, local, reqs, strays, rivals, faults>>

\* In the local queue a caller goes without a word: who named it, if anybody did, looks after it. With the turn, it leaves Redis.
\* @lua leave.lua @java Handoff#depart
GiveUp(a) ==
    LET me == at[a]
        gone == [at EXCEPT ![a] = Over(@)]
        quick == ~me.known \/ (InDoubt(me) /\ Broken # "successorInDoubt")
        successor == FirstLocal(a)
    IN
    /\ IF me.st = "behind"
       THEN at' = gone /\ local' = [local EXCEPT !.line = SelectSeq(@, LAMBDA b : b # a)] /\ UNCHANGED reqs
       ELSE /\ me.st \in {"turn", "line", "waits"}
            /\ IF quick
               THEN /\ at' = Exits([gone EXCEPT ![a].leave = IF me.known THEN "due" ELSE @], a)
                    /\ local' = ExitLocal(a)
                    /\ UNCHANGED reqs
               ELSE /\ at' = Named(gone, successor)
                    /\ reqs' = reqs \union {Handing("leave", a, successor, a, FALSE)}
                    /\ UNCHANGED local
    /\ UNCHANGED <<srv, strays, rivals, faults>>

\* @lua release.lua @java Exits#release
StartRelease(a) ==
    LET successor == IF at[a].unsure /\ Broken # "successorInDoubt" THEN Nobody ELSE FirstLocal(a) IN
    /\ at[a].st = "held"
    /\ at' = Named([at EXCEPT ![a].st = "releasing", ![a].unsure = FALSE], successor)
    /\ \E keep \in IF successor = Nobody THEN {FALSE} ELSE BOOLEAN :
        reqs' = reqs \union {Handing("release", a, successor, a, keep)}
    /\ UNCHANGED <<srv, local, strays, rivals, faults>>

\* The hold is given up for the next attempt, which waits in the Condition.
\* @lua await.lua @java Conditions.ConditionWait#giveUp
StartAwait(a) ==
    \E w \in Mine :
        LET successor == IF at[a].unsure /\ Broken # "successorInDoubt" THEN Nobody ELSE FirstLocal(a) IN
        /\ at[w].st = "new" /\ \A b \in Mine : b < w => at[b].st # "new"
        /\ Cardinality({b \in Mine : at[b].of # Nobody}) < Waits
        /\ at[a].st = "held"
        /\ at' = Named([at EXCEPT ![a].st = "releasing", ![a].unsure = FALSE,
                                  ![w].st = "giving", ![w].thread = at[a].thread, ![w].of = a], successor)
        /\ \E keep \in IF successor = Nobody THEN {FALSE} ELSE BOOLEAN :
            reqs' = reqs \union {Handing("await", a, successor, a, keep)}
        /\ UNCHANGED <<srv, local, strays, rivals, faults>>

\* Who holds the lock gives a signal.
\* @lua signal.lua @java Conditions#signal
Signal ==
    /\ srv.owner # Nobody
    /\ \E w \in srv.cond : srv' = [srv EXCEPT !.cond = @ \ {w}, !.line = Append(@, w)]
    /\ UNCHANGED <<at, local, reqs, strays, rivals, faults>>

\* Timed out or interrupted. As an acquire.
\* @lua rejoin.lua @java Conditions.ConditionWait#call
StartRejoin(a) ==
    LET copy == Copy("rejoin", a, Nobody, FALSE)
        out == Run(srv, copy)
        me(doubt) == LET m == [at[a] EXCEPT !.doubt = @ \/ doubt] IN
            IF out.ans = "GRANTED" THEN Settled(m) ELSE [m EXCEPT !.st = "line"]
    IN
    /\ at[a].st = "waits"
    /\ \/ srv' = out.s /\ at' = [at EXCEPT ![a] = me(FALSE)] /\ UNCHANGED strays /\ NoFault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a] = me(Broken # "copyForgotten")] /\ strays' = strays \union {copy} /\ Fault
       \/ srv' = out.s /\ at' = [at EXCEPT ![a].doubt = TRUE] /\ UNCHANGED strays /\ Fault
       \/ UNCHANGED srv /\ at' = [at EXCEPT ![a].doubt = TRUE] /\ strays' = strays \union {copy} /\ Fault
    /\ UNCHANGED <<local, reqs, rivals>>

\* Its deadline passes: the hold is lost, and ends in Redis with its lease.
\* @lua - @java Losses#ended
Lapse(a) ==
    /\ at[a].st = "held" /\ Fault
    /\ at' = Exits([at EXCEPT ![a] = [Over(@) EXCEPT !.st = "lost"]], a)
    /\ local' = ExitLocal(a)
    /\ UNCHANGED <<srv, reqs, strays, rivals>>

\* Its thread does not wait for the answer any longer. The release goes on as a pending command, and with it the turn.
\* @lua release.lua @java Handoff#releaseLater
ReleaseLater(r) ==
    LET gone == [at EXCEPT ![r.a] = Over(@)] IN
    /\ r.op = "release" /\ at[r.a].st = "releasing" /\ Fault
    /\ at' = IF Broken = "lostExits" THEN Exits(gone, r.a) ELSE gone
    /\ local' = IF Broken = "lostExits" THEN ExitLocal(r.a) ELSE local
    /\ UNCHANGED <<srv, reqs, strays, rivals>>

\* Redis runs a request that hands a turn on. A leave also says whether it has to be sent again.
\* @lua succession.lua @java MonitoredRedis#run
Serve(r) ==
    LET out == Run(srv, r) IN
    /\ r.st = "sent"
    /\ srv' = out.s
    /\ reqs' = (reqs \ {r}) \union {[r EXCEPT !.st = "ran", !.ans = out.ans,
                                              !.more = r.op = "leave" /\ MayHaveRun(at[r.a]) /\ MayRun(r.a) # {}]}
    /\ UNCHANGED <<at, local, strays, rivals, faults>>

\* The same call is sent again, whether it has run or not.
\* @lua - @java PendingCommand#failed
Again(r) ==
    /\ Fault
    /\ strays' = strays \union (IF r.st = "sent" THEN {Copy(r.op, r.a, r.successor, r.keep)} ELSE {})
    /\ IF Broken = "exitUnanswered" /\ r.op = "leave"
       THEN /\ at' = Exits([at EXCEPT ![r.a] = LeaveDue(@)], r.turn)
            /\ local' = ExitLocal(r.turn)
            /\ reqs' = reqs \ {r}
       ELSE /\ reqs' = (reqs \ {r}) \union {[r EXCEPT !.st = "sent", !.ans = "", !.more = FALSE]}
            /\ at' = IF r.op = "await" /\ Broken \notin {"awaitUndated", "awaitForgotten"}
                     THEN [at EXCEPT ![Waiting(r.a)].doubt = TRUE] ELSE at
            /\ UNCHANGED local
    /\ UNCHANGED <<srv, rivals>>

\* The answer hands the turn on: to the successor, if Redis has served it or put it in line; else to the first that waits.
\* @lua succession.lua @java Handoff#inherit
HandOn(r) ==
    LET successor == r.successor
        named == successor # Nobody /\ r.ans \in {"SUCCEEDED", "QUEUED"}
        waits == \E i \in 1..Len(local.line) : local.line[i] = successor
        ended == CASE r.op = "release" -> [at EXCEPT ![r.a] = IF @.st = "releasing" THEN Over(@) ELSE @]
                   [] r.op = "await" -> [at EXCEPT ![r.a] = Over(@), ![Waiting(r.a)].st = "waits", ![Waiting(r.a)].known = TRUE]
                   [] OTHER -> [at EXCEPT ![r.a].leave = IF r.more /\ Broken # "leaveOnce" THEN "late" ELSE @]
        \* A message came first, of a grant that could not be dated: it asks.
        served(me) == IF me.told THEN [me EXCEPT !.st = "turn", !.told = FALSE] ELSE Settled(me)
        second == FirstLocal(r.turn)
    IN
    /\ r.st = "ran"
    /\ IF ~named \/ (Broken = "goneStays" /\ ~waits)
       THEN at' = Exits(ended, r.turn) /\ local' = ExitLocal(r.turn) /\ reqs' = reqs \ {r}
       ELSE IF local.turn = r.turn /\ waits
       THEN /\ local' = [turn |-> successor, line |-> SelectSeq(local.line, LAMBDA b : b # successor)]
            /\ at' = [ended EXCEPT ![successor] = IF r.ans = "SUCCEEDED" THEN served(@) ELSE [@ EXCEPT !.st = "line", !.told = FALSE]]
            /\ reqs' = reqs \ {r}
       ELSE IF local.turn = successor
       THEN at' = ended /\ reqs' = reqs \ {r} /\ UNCHANGED local
       \* The successor has gone, and is taken out of Redis, with the next as successor.
       ELSE /\ at' = Named(ended, second)
            /\ reqs' = (reqs \ {r}) \union {Handing("leave", successor, second, r.turn, FALSE)}
            /\ UNCHANGED local
    /\ UNCHANGED <<srv, strays, rivals, faults>>

\* A leave that hands nothing on; sent again when nothing of its attempt can run any more. A copy of it may run again.
\* @lua leave.lua @java PendingCommand#call
LeaveLater(a) ==
    LET copy == Copy("leave", a, Nobody, FALSE)
        more == MayHaveRun(at[a]) /\ MayRun(a) # {} /\ Broken # "leaveOnce"
    IN
    /\ at[a].leave = "due" \/ (at[a].leave = "late" /\ MayRun(a) = {})
    /\ at[a].st \notin {"held", "releasing"} \/ Broken = "leaveHeld"
    /\ srv' = Run(srv, copy).s
    /\ at' = [at EXCEPT ![a].leave = IF more THEN "late" ELSE "no", ![a].doubt = @ /\ (more \/ Alive(a))]
    /\ \/ UNCHANGED strays /\ NoFault
       \/ strays' = strays \union {copy} /\ Fault
    /\ UNCHANGED <<local, reqs, rivals>>

\* The lease of an attempt ends that neither holds nor is about to learn that it does. For claims see Queue.
\* @world
Expire ==
    /\ srv.owner \in Mine /\ at[srv.owner].st \notin {"held", "line"} /\ Fault
    /\ \A r \in reqs : r.st = "ran" => srv.owner # r.successor
    /\ srv' = [srv EXCEPT !.owner = Nobody]
    /\ UNCHANGED <<at, local, reqs, strays, rivals>>

\* The rival asks, releases, finds a free lock by its heartbeat, or goes.
\* @world
Other ==
    LET queues == \E i \in 1..Len(srv.line) : srv.line[i] = Rival IN
    /\ IF srv.owner = Rival THEN srv' = Grant(srv) /\ UNCHANGED rivals
       ELSE IF queues
       THEN srv' = (IF srv.owner = Nobody THEN Grant(srv) ELSE Dropped(srv, Rival)) /\ UNCHANGED rivals
       ELSE /\ rivals > 0 /\ rivals' = rivals - 1
            /\ srv' = IF srv.owner = Nobody THEN [srv EXCEPT !.owner = Rival] ELSE LineUp(srv, Rival)
    /\ UNCHANGED <<at, local, reqs, strays, faults>>

-----------------------------------------------------------------------------

Init ==
    /\ srv = [owner |-> Nobody, line |-> <<>>, cond |-> {}]
    /\ at = [a \in Mine |-> [thread |-> "", st |-> "new", known |-> FALSE, told |-> FALSE, beat |-> FALSE,
                             of |-> Nobody, doubt |-> FALSE, unsure |-> FALSE, leave |-> "no"]]
    /\ local = [turn |-> Nobody, line |-> <<>>]
    /\ reqs = {} /\ strays = {} /\ rivals = Rivals /\ faults = Faults

Next ==
    \/ Other \/ Expire \/ Signal
    \/ \E t \in Threads : Begin(t)
    \/ \E a \in 1..Attempts :
        \/ StartAwait(a) \/ StartRejoin(a)
        \/ Ask(a) \/ StartBeat(a) \/ EndBeat(a) \/ Told(a) \/ GiveUp(a) \/ StartRelease(a) \/ Lapse(a) \/ LeaveLater(a)
    \/ \E r \in reqs : Serve(r) \/ Again(r) \/ HandOn(r) \/ ReleaseLater(r)
    \/ \E s \in strays : RunLate(s) \/ TooLate(s)

Symmetry == Permutations(Threads \ Outside)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* Whoever calls itself the holder is the owner in Redis, by this very attempt. So at most one does.
Honest == \A a \in Mine : at[a].st = "held" => srv.owner = a

\* An attempt with the reply QUEUED has its place, or the lock.
Placed == \A a \in Mine : at[a].st = "line" => srv.owner = a \/ \E i \in 1..Len(srv.line) : srv.line[i] = a

\* Nothing is under way but, perhaps, copies of releases and leaves.
Quiet ==
    /\ reqs = {} /\ \A s \in strays : s.op \notin Dated
    /\ \A a \in Mine : ~at[a].beat /\ (at[a].leave = "no" \/ Alive(a))

\* Then nothing is left in Redis of an attempt that is over: nobody would have it, and nobody get it.
NoOrphan ==
    Quiet => \A a \in Mine : at[a].st = "over" => srv.owner # a /\ a \notin srv.cond /\ \A i \in 1..Len(srv.line) : srv.line[i] # a

\* Then a thread in the local queue waits for a live attempt: one that asks, has a place, or holds.
NoLostTurn ==
    Quiet => IF local.turn = Nobody THEN local.line = <<>> ELSE at[local.turn].st \in {"turn", "line", "held"}

=============================================================================
