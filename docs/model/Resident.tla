------------------------------ MODULE Resident ------------------------------
(***************************************************************************)
(* A client that keeps a lock: in Redis an ordinary hold of the client, its *)
(* residence; in the client a turn, whose owner has the lock for as         *)
(* long as the residence is valid. Recalls, which are hints; losses that    *)
(* race with a hand-over; tokens that are counted in the client; await,     *)
(* which ends the residence and waits under the thread's own name.          *)
(*                                                                         *)
(* Time is a set of countdowns, as in Lease, and everybody is prompt, as in *)
(* Queue, except by a fault. An acquisition is sent, run and answered in    *)
(* steps of their own; a renewal is answered in a second step; every other  *)
(* request runs and is answered in one, or by a fault late, twice, or       *)
(* unanswered. Slow clocks, dated grants, places that lapse and callers     *)
(* that give up in Redis are the matter of Lease and Queue.                 *)
(*                                                                         *)
(* Left out: tokens by the time alone, which a residence gives in its first *)
(* millisecond; tries of other clients, which do not wait; a subscription   *)
(* that comes back; other ways than await to a hold of one's own. What      *)
(* await leaves in a Condition stands in the line at once, as if a signal   *)
(* had come with it.                                                        *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,
    Residents,  \* those that keep the lock; the others, or those of an older version, give it back at each unlock
    Busy,       \* those with two threads; the others have one
    Attempts,   \* acquisitions per client, those of await included
    Few,        \* those that acquire but once
    Lease, Claim, Timeout,
    Slice,      \* how long a residence lasts, though it is recalled, if threads of its client wait for it
    Awaits,     \* whether a thread may wait in a Condition
    Beats,      \* whether heartbeats recall
    Ends,       \* what an operator may do, of "wipe" and "force"
    Cuts,       \* whether a subscription may break permanently
    Net,        \* whether requests and messages may be lost, and clients crash
    Clock,      \* how far Redis' clock goes; 0 if tokens are not looked at
    Back,       \* how far the clock may be set back, while the data are kept
    Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the hash with its time to live and token, the last token in the fence, the line, the clock
    cl,         \* the clients
    mail,       \* recalls on their way to a mailbox
    stray,      \* requests that may run, though nobody waits for an answer
    given,      \* the tokens that were given out, by Redis or by a client
    grown,      \* whether each was greater than all before it
    once,       \* whether none was given out twice
    silent,     \* whether a hold got a loss reported that did not happen
    faults      \* how many are left

vars == <<srv, cl, mail, stray, given, grown, once, silent, faults>>
Tokens == <<given, grown, once>>

None == "none"
Nobody == 0                     \* no thread has the turn
Threads(c) == IF c \in Busy THEN {1, 2} ELSE {1}
Keeps(c) == c \in Residents
More(c) == cl[c].n < IF c \in Few THEN 1 ELSE Attempts
Max(x, y) == IF x > y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0
Minus(x, y) == IF x > y THEN x - y ELSE 0

(***************************************************************************)
(* The scripts. Each gives an answer, a new state and the recalls that it   *)
(* publishes. An owner is a client, as a residence, or a thread of it.      *)
(***************************************************************************)

Out(ans, s, msgs) == [ans |-> ans, s |-> s, msgs |-> msgs]
Mine(s, c, a) == s.owner = c /\ s.a = a
InLine(s, c, a) == \E i \in 1..Len(s.line) : s.line[i][1] = c /\ s.line[i][2] = a
Without(s, c, a) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : p[1] # c \/ p[2] # a)]
LineUp(s, c, a, own) == IF InLine(s, c, a) THEN s ELSE [s EXCEPT !.line = Append(@, <<c, a, own>>)]
Extend(s, lease) == [s EXCEPT !.ttl = Max(@, lease)]
Gone(s) == [s EXCEPT !.owner = None, !.a = 0, !.ttl = 0, !.own = FALSE, !.token = 0]
Fence(s, last) == [s EXCEPT !.fence = IF Clock = 0 THEN 0 ELSE Max(@, last)]

\* mint in hold.lua; and own. No two tokens come in one tick of the clock.
Own(s, c, a, own, lease) ==
    LET token == IF Clock = 0 THEN 0 ELSE Max(s.now, s.fence + 1) IN
    [Without(s, c, a) EXCEPT !.owner = c, !.a = a, !.own = own, !.ttl = lease, !.token = token, !.fence = token,
                             !.now = IF Clock = 0 THEN 0 ELSE @ + 1]
Grant(s) == IF s.line = <<>> THEN Gone(s) ELSE LET p == Head(s.line) IN Own(Gone(s), p[1], p[2], p[3], Claim)

\* Whoever finds the lock taken by a residence recalls it.
Recall(s) == IF s.owner # None /\ ~s.own THEN {<<s.owner, s.a>>} ELSE {}

\* acquire.lua, with a place. What an earlier attempt of the same owner left behind is taken over.
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, r) ==
    IF r.na = 0 THEN Out("LATE", s, {})
    ELSE IF Mine(s, r.c, r.a) THEN Out("OK", Extend(s, Lease), {})
    ELSE IF s.owner = None \/ (s.owner = r.c /\ s.own = r.own /\ s.a < r.a)
         THEN Out("OK", Own(s, r.c, r.a, r.own, Lease), {})
    ELSE Out("QUEUED", LineUp(s, r.c, r.a, r.own), Recall(s))

\* heartbeat.lua
\* @lua heartbeat.lua @java Scripts#heartbeat
Beat(s, r) ==
    LET lined == LineUp(s, r.c, r.a, r.own)
        won == Grant(lined)
    IN
    IF r.na = 0 THEN Out("LATE", s, {})
    ELSE IF Mine(s, r.c, r.a) THEN Out("GRANTED", Extend(s, Claim), {})
    ELSE IF s.owner = None THEN Out(IF Mine(won, r.c, r.a) THEN "GRANTED" ELSE "QUEUED", won, {})
    ELSE Out("QUEUED", lined, IF Beats /\ Broken # "beatSilent" THEN Recall(s) ELSE {})

\* renew.lua
\* @lua renew.lua @java Scripts#renew
Renew(s, r) == IF Mine(s, r.c, r.a) THEN Out("OK", Extend(s, Lease), {}) ELSE Out("GONE", s, {})

\* release.lua. That of a residence carries the last token.
\* @lua release.lua @java Scripts#release
Release(s, r) ==
    IF ~Mine(s, r.c, r.a) THEN Out("GONE", s, {})
    ELSE Out("FREED", Grant(IF Broken = "lastUnwritten" THEN s ELSE Fence(s, r.last)), {})

\* leave.lua
\* @lua leave.lua @java Scripts#leave
Leave(s, r) ==
    LET left == Without(s, r.c, r.a) IN Out("DONE", IF Mine(s, r.c, r.a) THEN Grant(left) ELSE left, {})

\* await.lua: a place under the thread's own name, b, and the end of the residence, a. Run again, it says that it has run.
\* @lua await.lua @java Scripts#await
Await(s, r) ==
    LET ended == IF Broken = "awaitForgets" THEN s ELSE Fence(s, r.last) IN
    IF r.na = 0 THEN Out("LATE", s, {})
    ELSE IF Mine(s, r.c, r.a) THEN Out("DONE", Grant(LineUp(ended, r.c, r.b, TRUE)), {})
    ELSE IF (InLine(s, r.c, r.b) \/ Mine(s, r.c, r.b)) /\ Broken # "awaitOnce" THEN Out("WAITING", s, {})
    ELSE Out("GONE", s, {})

Run(s, r) ==
    CASE r.op = "acquire" -> Acquire(s, r)
      [] r.op = "beat" -> Beat(s, r)
      [] r.op = "renew" -> Renew(s, r)
      [] r.op = "release" -> Release(s, r)
      [] r.op = "leave" -> Leave(s, r)
      [] r.op = "await" -> Await(s, r)

(***************************************************************************)
(* Requests                                                                *)
(***************************************************************************)

\* What makes a hold or a place is worth running for a time only.
Dated(op) == op \in {"acquire", "beat", "await"}
Request(c, op, a, b, own, last) ==
    [op |-> op, c |-> c, a |-> a, b |-> b, own |-> own, last |-> last, na |-> IF Dated(op) THEN Timeout ELSE 0]
NoCall == [op |-> None]
Call(c, op, a) == [op |-> op, age |-> 0, ans |-> None, token |-> 0, r |-> Request(c, op, a, 0, ~Keeps(c), 0)]
NoRenewal == [ans |-> None, age |-> 0]
NoWait == [t |-> Nobody, a |-> 0, st |-> None, left |-> 0, hb |-> 0]

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults

\* A token is given out: one that Redis has made, or that a client has counted. What was taken away by force, or is over by
\* time, knows nothing of those that came after it.
Highest == IF given = {} THEN 0 ELSE CHOOSE t \in given : \A u \in given : u <= t
Gives(token, deposed) ==
    IF Clock = 0 THEN UNCHANGED Tokens
    ELSE /\ given' = given \union {token}
         /\ grown' = (grown /\ (deposed \/ token > Highest))
         /\ once' = (once /\ token \notin given)
Minted(s) ==
    IF s.owner # None /\ <<s.owner, s.a>> # <<srv.owner, srv.a>> THEN Gives(s.token, FALSE) ELSE UNCHANGED Tokens

\* A recall may be lost by a fault; where nobody listens it is lost without any. Others may come late.
Publish(msgs) ==
    LET heard == {m \in msgs : cl[m[1]].live /\ cl[m[1]].sub = "open"} IN
    \/ mail' = mail \union heard /\ NoFault
    \/ Net /\ heard \ mail # {} /\ mail' = mail /\ Fault

\* A request runs and is answered; or by a fault it is not answered, whether it has run or not.
Do(r, answered(_)) ==
    LET out == Run(srv, r) IN srv' = out.s /\ Minted(out.s) /\ cl' = answered(out.ans) /\ NoFault
Unanswered(r, unanswered) ==
    /\ Net /\ Fault /\ cl' = unanswered
    /\ \/ LET out == Run(srv, r) IN srv' = out.s /\ Minted(out.s)
       \/ UNCHANGED <<srv, Tokens>>

\* @world
RunLate(r) ==
    LET out == Run(srv, r) IN
    /\ srv' = out.s /\ Minted(out.s) /\ Publish(out.msgs)
    /\ stray' = stray \ {r}
    /\ UNCHANGED <<cl, silent>>

(***************************************************************************)
(* The client. left is the time to the deadline of the residence; since is  *)
(* the time from the answer that brought it, by a clock as fast as that of  *)
(* Redis; sure is since as it was when the last request was sent to which   *)
(* Redis answered that the residence is there. base is its token, and last  *)
(* the last one that a thread had.                                          *)
(***************************************************************************)

Here(c) == cl[c].live
Resides(c) == Here(c) /\ cl[c].st = "valid" /\ cl[c].left > 0

\* Whether a thread calls itself the holder: while it holds, and the residence is valid; or by its own name.
ByOwn(c, t) == cl[c].th[t].st = "own"
Believes(c, t) ==
    /\ Here(c)
    /\ \/ ByOwn(c, t) /\ cl[c].w.left > 0
       \/ /\ cl[c].th[t].st = "held"
          /\ Broken = "validAlone" \/ (Resides(c) /\ cl[c].th[t].a = cl[c].a)

Set(me, t, st, a) == [me EXCEPT !.th[t] = [st |-> st, a |-> a]]
Command(op, a, last) == [op |-> op, a |-> a, last |-> last]
Commands(me, e) == [me EXCEPT !.cmds = @ \union {e}]
\* What may run late of an attempt is followed by a leave.
Leaving(me) == IF me.doubt THEN [Commands(me, Command("leave", me.a, 0)) EXCEPT !.doubt = FALSE] ELSE me
\* The residence is over. What it was recalled for is not needed any more.
Over(me) == [Leaving(me) EXCEPT !.st = "none", !.left = 0, !.rec = FALSE, !.slice = 0, !.last = 0, !.base = 0,
                                !.since = 0, !.sure = 0, !.ren = NoRenewal]
Last(me) == Max(me.last, me.base)

\* Whether a residence is not to be kept: others want it, or could not say so; once its slice is over, if threads of its client
\* would have the lock next.
Closed(me) == me.sub = "closed" /\ Broken # "deafKeeps"
IsOver(c, passes) == (cl[c].rec \/ Closed(cl[c])) /\ (~passes \/ cl[c].slice = 0)
OthersWant(c, t) == \E u \in Threads(c) \ {t} : cl[c].th[u].st = "want"

\* It is released, by a thread or in the background; no thread of the client acquires another before that is answered.
GivenUp(me) == Over(Commands(me, Command("release", me.a, Last(me))))
Released(me) == Broken = "overtaken" \/ ~\E e \in me.cmds : e.op = "release"
Begun(c, me, t) ==
    [Set(me, t, "acquires", 0) EXCEPT !.turn = t, !.st = "asks", !.a = me.n + 1, !.n = @ + 1, !.call = Call(c, "acquire", me.n + 1)]

\* A thread wants the lock.
\* @lua - @java Turn#await
Want(c, t) ==
    /\ Here(c) /\ Keeps(c) /\ cl[c].th[t].st = "idle"
    /\ cl' = [cl EXCEPT ![c] = Set(@, t, "want", 0)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* The next token, and whether it may be given out.
InTime(me) ==
    \/ Clock = 0 \/ me.last < me.base
    \/ me.last + 1 <= me.base + IF Broken = "byTimeAlone" THEN me.since ELSE me.sure

\* It has the turn, and finds a residence that is valid, may be kept and has a token; or that may not be kept.
\* @lua - @java KeptLock#take
Enter(c, t) ==
    LET me == cl[c] IN
    /\ Resides(c) /\ me.th[t].st = "want" /\ me.turn = Nobody
    /\ IF IsOver(c, TRUE)
       THEN cl' = [cl EXCEPT ![c] = GivenUp(me)]
       ELSE InTime(me) /\ cl' = [cl EXCEPT ![c] = [Set(me, t, "checked", me.a) EXCEPT !.turn = t]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* It finds none, and acquires one as every other lock is acquired.
\* @lua acquire.lua @java KeptLock#acquire
Acquires(c, t) ==
    LET me == cl[c] IN
    /\ Here(c) /\ me.th[t].st = (IF Keeps(c) THEN "want" ELSE "idle") /\ me.turn = Nobody /\ me.st = "none" /\ More(c)
    /\ Released(me)
    /\ cl' = [cl EXCEPT ![c] = Begun(c, me, t)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* It waits for the turn no longer. Who ended its turn may have left it to this thread to give the lock up.
\* @lua - @java KeptLock#awaitTurn
Depart(c, t) ==
    /\ Here(c) /\ c \in Busy /\ cl[c].th[t].st = "want"
    /\ cl' = [cl EXCEPT ![c] = Set(@, t, IF Broken = "departs" THEN "idle" ELSE "looks", 0)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

MayAsk(c) == Here(c) /\ cl[c].st = "asks" /\ cl[c].call = NoCall
\* @lua acquire.lua @java BlockingDriver#ask
Ask(c) ==
    /\ MayAsk(c)
    /\ cl' = [cl EXCEPT ![c].call = Call(c, "acquire", cl[c].a)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

MayBeat(c) == Here(c) /\ cl[c].st = "line" /\ cl[c].hb = 0 /\ cl[c].call = NoCall
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
StartBeat(c) ==
    /\ MayBeat(c)
    /\ cl' = [cl EXCEPT ![c].call = Call(c, "beat", cl[c].a)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

MayServe(c) == Here(c) /\ cl[c].call # NoCall /\ cl[c].call.ans = None
\* @lua hold.lua @java MonitoredRedis#run
Serve(c) ==
    LET out == Run(srv, cl[c].call.r) IN
    /\ MayServe(c)
    /\ srv' = out.s /\ Minted(out.s) /\ Publish(out.msgs)
    /\ cl' = [cl EXCEPT ![c].call.ans = out.ans, ![c].call.token = out.s.token, ![c].call.r.na = 0]
    /\ UNCHANGED <<stray, silent>>

\* The residence, or the hold of another client, begins. A residence from the line counts as recalled, since others may
\* stand there; another, if a recall came first.
Settle(c, me, validity, token, fromLine) ==
    IF validity = 0 THEN [me EXCEPT !.st = "asks"]
    ELSE [Set(me, me.turn, IF Keeps(c) THEN "checked" ELSE "held", me.a) EXCEPT
            !.st = "valid", !.left = validity, !.slice = Slice,
            !.rec = (fromLine /\ Broken # "fromLineKept") \/ (me.rec /\ Broken # "recallForgotten"),
            !.base = token, !.last = Less(token), !.since = 0, !.sure = 0]

MayReceive(c) == Here(c) /\ cl[c].call # NoCall /\ cl[c].call.ans # None
\* @lua acquire.lua @java Settlements.Settlement#settle
Receive(c) ==
    LET me == [cl[c] EXCEPT !.call = NoCall]
        call == cl[c].call
        age == IF Broken = "datedByReceipt" THEN 0 ELSE call.age
    IN
    /\ MayReceive(c)
    /\ cl' = [cl EXCEPT ![c] =
        CASE call.ans = "OK" -> Settle(c, me, Minus(Lease, age), call.token, FALSE)
          [] call.ans = "GRANTED" -> Settle(c, me, Minus(Claim, age), call.token, TRUE)
          [] call.ans = "QUEUED" -> [me EXCEPT !.st = "line", !.hb = 1]
          [] OTHER -> [me EXCEPT !.st = "asks"]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* It, or its answer, is lost. It may still run, or run again.
\* @lua acquire.lua @java Acquisitions.OfLock#failed
NotAnswered(c) ==
    LET me == cl[c] IN
    /\ Net /\ Here(c) /\ me.call # NoCall /\ Fault
    /\ cl' = [cl EXCEPT ![c].call = NoCall, ![c].doubt = TRUE, ![c].hb = IF me.st = "line" THEN 1 ELSE 0]
    /\ stray' \in {stray, stray \union {[me.call.r EXCEPT !.na = Timeout]}}
    /\ UNCHANGED <<srv, mail, Tokens, silent>>

\* A message tells of a grant, of which this is left: that it is dated is the matter of Queue.
\* @lua line.lua @java Mailbox#deliver
Told(c) ==
    LET me == cl[c] IN
    /\ Here(c) /\ me.sub = "open" /\ me.st = "line" /\ me.call = NoCall /\ Mine(srv, c, me.a)
    /\ cl' = [cl EXCEPT ![c] = Settle(c, me, srv.ttl, srv.token, TRUE)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* A recall names the attempt, and is kept for it if its answer is still to come. If the turn is free, the residence is given
\* up; else the owner of the turn does.
\* @lua - @java Residences#byWaiter
Deliver(m) ==
    LET c == m[1]
        me == cl[c]
        noted == [me EXCEPT !.rec = @ \/ (me.a = m[2] /\ me.st \in {"asks", "line", "valid"})]
    IN
    /\ mail' = mail \ {m}
    /\ cl' = [cl EXCEPT ![c] = IF ~Here(c) THEN me
                               ELSE IF Resides(c) /\ me.turn = Nobody THEN GivenUp(noted) ELSE noted]
    /\ UNCHANGED <<srv, stray, Tokens, silent, faults>>

(***************************************************************************)
(* The threads of a client                                                 *)
(***************************************************************************)

\* It can be seen as the holder, so a loss finds it; and has a token of its own.
\* @lua - @java Residence#take
Show(c, t) ==
    LET me == cl[c]
        mine == me.st = "valid" /\ me.a = me.th[t].a
        counts == mine /\ Clock > 0
    IN
    /\ Here(c) /\ me.th[t].st = "checked"
    /\ cl' = [cl EXCEPT ![c] = [Set(me, t, "seen", me.th[t].a) EXCEPT !.last = IF counts THEN @ + 1 ELSE @]]
    /\ IF counts /\ me.last >= me.base THEN Gives(me.last + 1, me.forced = me.a \/ me.left = 0) ELSE UNCHANGED Tokens
    /\ UNCHANGED <<srv, mail, stray, silent, faults>>

\* It looks once more whether the residence has ended. Only then it has the lock.
\* @lua - @java Residence#take
Look(c, t) ==
    LET me == cl[c]
        mine == me.st = "valid" /\ me.a = me.th[t].a
    IN
    /\ Here(c) /\ me.th[t].st = "seen"
    /\ cl' = [cl EXCEPT ![c] = IF mine \/ Broken = "noSecondLook" THEN Set(me, t, "held", me.th[t].a)
                               ELSE [Set(me, t, "want", 0) EXCEPT !.turn = Nobody]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* An unlock releases the residence if it is over, or if the client keeps none; else the thread ends its turn. Of a hold that
\* is lost the thread is told here, if nobody has told it yet.
\* @lua - @java ThreadLock#passOn
Unlock(c, t) ==
    LET me == cl[c] IN
    /\ Here(c) /\ me.th[t].st = "held"
    /\ cl' = [cl EXCEPT ![c] =
        IF ~Resides(c) \/ me.a # me.th[t].a THEN [Set(me, t, "idle", 0) EXCEPT !.turn = Nobody]
        ELSE IF ~Keeps(c) \/ IsOver(c, OthersWant(c, t)) THEN [Set(me, t, "releases", 0) EXCEPT !.st = "ending"]
        ELSE Set(me, t, "passes", 0)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* Others can take the turn.
\* @lua - @java Residence#passOn
PassOn(c, t) ==
    /\ Here(c) /\ cl[c].th[t].st = "passes"
    /\ cl' = [cl EXCEPT ![c] = [Set(@, t, IF Broken = "noLastLook" THEN "idle" ELSE "looks", 0) EXCEPT !.turn = Nobody]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* Then it looks once more whether somebody wants the lock.
\* @lua - @java LeaseEnds#turnEnded
LastLook(c, t) ==
    LET me == Set(cl[c], t, "idle", 0)
        gives == Resides(c) /\ me.turn = Nobody /\ IsOver(c, OthersWant(c, t))
    IN
    /\ Here(c) /\ cl[c].th[t].st = "looks"
    /\ cl' = [cl EXCEPT ![c] = IF gives THEN GivenUp(me) ELSE me]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* A residence that was idle for its time, or cannot be recalled, is given up by the owner of the turn.
MayEnd(c) ==
    /\ Resides(c) /\ Keeps(c)
    /\ \/ cl[c].turn = Nobody
       \/ Broken = "endsHeld" /\ cl[c].th[cl[c].turn].st = "held"
MustEnd(c) == MayEnd(c) /\ Closed(cl[c])
\* @lua release.lua @java LeaseEnds#giveUp
GiveUp(c) ==
    /\ MayEnd(c)
    /\ cl' = [cl EXCEPT ![c] = GivenUp(@)]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* The thread that unlocks has the turn until the release is answered, or goes on in the background.
\* @lua release.lua @java ThreadLock#passOn
EndInRedis(c) ==
    LET me == cl[c]
        out == [Over(Set(me, me.turn, "idle", 0)) EXCEPT !.turn = Nobody]
        r == Request(c, "release", me.a, 0, ~Keeps(c), Last(me))
    IN
    /\ Here(c) /\ me.st = "ending"
    /\ \/ Do(r, LAMBDA ans : [cl EXCEPT ![c] = out])
       \/ Unanswered(r, [cl EXCEPT ![c] = Commands(out, Command("release", me.a, Last(me)))])
    /\ UNCHANGED <<mail, stray, silent>>

\* Sent until it is answered; a leave after the release, and again for as long as something of its attempt may run.
Late(c, a) == {r \in stray : r.c = c /\ a = IF r.op = "await" THEN r.b ELSE r.a}
MayDo(c, e) ==
    /\ Here(c)
    /\ e.op = "leave" => /\ ~\E f \in cl[c].cmds : f.op = "release" /\ f.a = e.a
                         /\ cl[c].st # "none" => cl[c].a # e.a
                         /\ cl[c].w.a # e.a
                         /\ Late(c, e.a) = {}
\* @lua leave.lua @java PendingCommand#call
DoCommand(c, e) ==
    LET out == Run(srv, Request(c, e.op, e.a, 0, FALSE, e.last)) IN
    /\ MayDo(c, e)
    /\ srv' = out.s /\ Minted(out.s)
    /\ \/ cl' = [cl EXCEPT ![c].cmds = @ \ {e}] /\ NoFault
       \/ Net /\ UNCHANGED cl /\ Fault
    /\ UNCHANGED <<mail, stray, silent>>

(***************************************************************************)
(* Losses. One step ends the residence, another tells who holds by it.     *)
(***************************************************************************)

Loses(me) == [Over(me) EXCEPT !.losing = me.a]
MayLapse(c) == Here(c) /\ cl[c].st = "valid" /\ cl[c].left = 0 /\ cl[c].losing = 0
\* @lua - @java ThreadLosses#isValid
Lapse(c) ==
    /\ MayLapse(c)
    /\ cl' = [cl EXCEPT ![c] = [Loses(@) EXCEPT !.gone = @ \union {cl[c].a}]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* Who can be seen as the holder by this attempt is told, once. A thread that becomes the holder later looks by itself.
\* @lua - @java Residence#lost
Tell(c) ==
    LET me == cl[c]
        seen == {t \in Threads(c) : /\ me.th[t].st \in {"seen", "held"}
                                    /\ me.th[t].a = me.losing \/ Broken = "tellsAnyone"}
    IN
    /\ Here(c) /\ me.losing > 0
    /\ cl' = [cl EXCEPT ![c] = [me EXCEPT !.losing = 0, !.turn = IF seen = {} THEN @ ELSE Nobody,
                                          !.th = [t \in Threads(c) |-> IF t \in seen THEN [st |-> "idle", a |-> 0] ELSE @[t]]]]
    /\ silent' = (silent \/ \E t \in seen : me.th[t].a # me.losing)
    /\ UNCHANGED <<srv, mail, stray, Tokens, faults>>

\* A heartbeat's time after the last one, or since a thread needs a token; the client tests whether its mailbox hears. Holds of
\* other clients last for one lease here.
MustRenew(c) == Resides(c) /\ Keeps(c) /\ cl[c].left = 1 /\ cl[c].ren = NoRenewal
MayRenew(c) ==
    /\ Resides(c) /\ Keeps(c) /\ cl[c].ren = NoRenewal /\ cl[c].losing = 0
    /\ cl[c].left < Lease \/ (Clock > 0 /\ cl[c].sure < cl[c].since)
\* @lua renew.lua @java Renewal#call
Renewal(c) ==
    LET r == Request(c, "renew", cl[c].a, 0, FALSE, 0)
        tested == IF cl[c].sub = "deaf" THEN "closed" ELSE cl[c].sub
    IN
    /\ MayRenew(c)
    /\ \/ Do(r, LAMBDA ans : [cl EXCEPT ![c].ren.ans = ans, ![c].sub = tested])
       \/ Unanswered(r, [cl EXCEPT ![c].sub = tested])
    /\ UNCHANGED <<mail, stray, silent>>

\* A deadline that has passed is never moved on. What has passed is confirmed as of the time at which the request was sent.
MayBeRenewed(c) == Here(c) /\ cl[c].ren # NoRenewal
\* @lua renew.lua @java Renewal#answered
Renewed(c) ==
    LET me == [cl[c] EXCEPT !.ren = NoRenewal]
        age == cl[c].ren.age
        sent == IF Broken = "confirmedByReceipt" THEN me.since ELSE Minus(me.since, age)
    IN
    /\ MayBeRenewed(c)
    /\ cl' = [cl EXCEPT ![c] =
        IF me.left = 0 THEN me
        ELSE IF cl[c].ren.ans = "GONE" THEN Loses(me)
        ELSE [me EXCEPT !.left = Max(@, IF Broken = "renewedByReceipt" THEN Lease ELSE Minus(Lease, age)),
                        !.sure = Max(@, sent)]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

(***************************************************************************)
(* A thread waits in a Condition: await ends the residence, and comes back  *)
(* with a hold of the thread's own.                                         *)
(***************************************************************************)

\* @lua - @java Conditions.ConditionWait#await
StartAwait(c, t) ==
    LET me == cl[c] IN
    /\ Awaits /\ Keeps(c) /\ Believes(c, t) /\ me.th[t].st = "held" /\ More(c) /\ me.w = NoWait
    /\ cl' = [cl EXCEPT ![c] = [Set(me, t, "awaits", 0) EXCEPT
                !.st = "awaiting", !.n = @ + 1, !.w = [NoWait EXCEPT !.t = t, !.a = me.n + 1, !.st = "asks"]]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* GONE is a loss, but not if an earlier copy of the request may have run.
\* @lua await.lua @java Conditions.ConditionWait#giveUp
AskAwait(c) ==
    LET me == cl[c]
        r == Request(c, "await", me.a, me.w.a, TRUE, Last(me))
        out == [Over(me) EXCEPT !.turn = Nobody]
        waits == [Set(out, me.w.t, "waits", 0) EXCEPT !.w.st = "line", !.w.hb = 1]
        lost == [Set(out, me.w.t, "idle", 0) EXCEPT !.w = NoWait]
        again == me.w.st = "again" /\ Broken # "awaitOnce"
    IN
    /\ Here(c) /\ me.st = "awaiting"
    /\ \/ Do(r, LAMBDA ans : [cl EXCEPT ![c] = IF ans = "GONE" /\ ~again THEN lost ELSE waits]) /\ UNCHANGED stray
       \/ Unanswered(r, [cl EXCEPT ![c].w.st = "again"]) /\ stray' \in {stray, stray \union {r}}
    /\ UNCHANGED <<mail, silent>>

\* It is not answered for long: the residence is released, and what await may have left behind is followed by a leave.
\* @lua - @java Conditions.ConditionWait#notAnswered
GiveUpAwait(c) ==
    LET me == cl[c]
        out == Commands(Over(Set(me, me.w.t, "idle", 0)), Command("release", me.a, Last(me)))
    IN
    /\ Here(c) /\ me.st = "awaiting" /\ me.w.st = "again"
    /\ cl' = [cl EXCEPT ![c] = [(IF Broken = "awaitUnfollowed" THEN out ELSE Commands(out, Command("leave", me.w.a, 0)))
                                    EXCEPT !.turn = Nobody, !.w = NoWait]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

MayBeatOwn(c) == Here(c) /\ cl[c].w.st = "line" /\ cl[c].w.hb = 0
\* Its place is renewed as every other.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
BeatOwn(c) ==
    LET w == cl[c].w
        out == Run(srv, Request(c, "beat", w.a, 0, TRUE, 0))
    IN
    /\ MayBeatOwn(c)
    /\ srv' = out.s /\ Minted(out.s) /\ Publish(out.msgs)
    /\ cl' = [cl EXCEPT ![c] = IF out.ans = "GRANTED"
                               THEN [Set(@, w.t, "own", w.a) EXCEPT !.w.st = "held", !.w.left = Claim]
                               ELSE [@ EXCEPT !.w.hb = 1]]
    /\ UNCHANGED <<stray, silent>>

\* @lua line.lua @java Mailbox#deliver
ToldOwn(c) ==
    LET w == cl[c].w IN
    /\ Here(c) /\ cl[c].sub = "open" /\ w.st = "line" /\ Mine(srv, c, w.a)
    /\ cl' = [cl EXCEPT ![c] = [Set(@, w.t, "own", w.a) EXCEPT !.w.st = "held", !.w.left = srv.ttl]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent, faults>>

\* It lasts for its claim here, and is released as every other hold.
\* @lua release.lua @java Exits#release
UnlockOwn(c) ==
    LET me == cl[c]
        a == me.w.a
        out == [Set(me, me.w.t, "idle", 0) EXCEPT !.w = NoWait]
        r == Request(c, "release", a, 0, TRUE, 0)
    IN
    /\ Here(c) /\ me.w.st = "held"
    /\ IF me.w.left = 0 THEN cl' = [cl EXCEPT ![c] = [out EXCEPT !.gone = @ \union {a}]] /\ UNCHANGED <<srv, Tokens, faults>>
       ELSE \/ Do(r, LAMBDA ans : [cl EXCEPT ![c] = out])
            \/ Unanswered(r, [cl EXCEPT ![c] = Commands(out, Command("release", a, 0))])
    /\ UNCHANGED <<mail, stray, silent>>

(***************************************************************************)
(* The world                                                               *)
(***************************************************************************)

Deposed == IF srv.owner = None THEN cl ELSE [cl EXCEPT ![srv.owner].forced = srv.a]

\* An operator ends what there is.
\* @lua force.lua @java LockQueries#forceUnlock
Force ==
    /\ "force" \in Ends /\ srv.owner # None /\ Fault
    /\ srv' = Grant(srv) /\ Minted(srv') /\ cl' = Deposed
    /\ UNCHANGED <<mail, stray, silent>>

\* Redis loses all it knew. Its clock has passed the last token in the fence, and goes on.
\* @world
Wipe ==
    /\ "wipe" \in Ends /\ (Clock > 0 => srv.now > srv.fence) /\ Fault
    /\ srv' = [Gone(srv) EXCEPT !.fence = 0, !.line = <<>>] /\ cl' = Deposed
    /\ UNCHANGED <<mail, stray, Tokens, silent>>

\* Redis' clock is set back. The data are kept; if they were lost, then another token has come since.
\* @world
SetBack ==
    /\ (srv.fence > 0 \/ given = {}) /\ Fault
    /\ \E back \in 1..Back : srv.now > back /\ srv' = [srv EXCEPT !.now = @ - back]
    /\ UNCHANGED <<cl, mail, stray, Tokens, silent>>

\* @world
Crash(c) ==
    /\ Net /\ Here(c) /\ Fault
    /\ cl' = [cl EXCEPT ![c] = [Over([@ EXCEPT !.doubt = FALSE]) EXCEPT
                !.live = FALSE, !.call = NoCall, !.cmds = {}, !.turn = Nobody, !.losing = 0, !.hb = 0, !.w = NoWait,
                !.th = [t \in Threads(c) |-> [st |-> "idle", a |-> 0]]]]
    /\ UNCHANGED <<srv, mail, stray, Tokens, silent>>

\* The subscription breaks, and the client does not know.
\* @world
Cut(c) ==
    /\ Cuts /\ Here(c) /\ cl[c].sub = "open" /\ Fault
    /\ cl' = [cl EXCEPT ![c].sub = "deaf"]
    /\ mail' = {m \in mail : m[1] # c}
    /\ UNCHANGED <<srv, stray, Tokens, silent>>

Due(c) ==
    \/ MayAsk(c) \/ MayBeat(c) \/ MayServe(c) \/ MayReceive(c) \/ MayLapse(c) \/ MustEnd(c) \/ MustRenew(c)
    \/ MayBeRenewed(c) \/ MayBeatOwn(c)
    \/ Here(c) /\ (cl[c].st \in {"ending", "awaiting"} \/ cl[c].losing > 0)
    \/ \E e \in cl[c].cmds : MayDo(c, e)

Moved(me) ==
    [me EXCEPT !.left = Less(@), !.hb = Less(@), !.slice = Less(@), !.w.left = Less(@), !.w.hb = Less(@),
               !.since = IF Clock > 0 /\ me.st = "valid" /\ @ < Clock THEN @ + 1 ELSE @,
               !.ren.age = IF me.ren = NoRenewal THEN 0 ELSE @ + 1,
               !.call = IF @ = NoCall THEN @
                        ELSE [@ EXCEPT !.age = IF @ < Lease THEN @ + 1 ELSE @, !.r.na = Less(@)]]

\* @world
Tick ==
    /\ IF \E c \in Clients : Due(c) THEN Fault ELSE NoFault
    /\ Clock > 0 => srv.now < Clock
    /\ srv' = LET s == [srv EXCEPT !.now = IF Clock > 0 THEN @ + 1 ELSE @] IN
              IF s.ttl = 1 THEN Gone(s) ELSE [s EXCEPT !.ttl = Less(@)]
    /\ cl' = [c \in Clients |-> Moved(cl[c])]
    /\ stray' = {r \in {[s EXCEPT !.na = IF Dated(s.op) THEN Less(@) ELSE @] : s \in stray} : r.na > 0}
    /\ UNCHANGED <<mail, Tokens, silent>>

-----------------------------------------------------------------------------

Init ==
    /\ srv = [owner |-> None, a |-> 0, own |-> FALSE, ttl |-> 0, token |-> 0, fence |-> 0, line |-> <<>>,
              now |-> IF Clock > 0 THEN 1 ELSE 0]
    /\ cl = [c \in Clients |->
                [live |-> TRUE, sub |-> "open", st |-> "none", a |-> 0, n |-> 0, left |-> 0, rec |-> FALSE, slice |-> 0,
                 hb |-> 0, call |-> NoCall, doubt |-> FALSE, base |-> 0, last |-> 0, since |-> 0, sure |-> 0,
                 ren |-> NoRenewal, turn |-> Nobody, losing |-> 0, cmds |-> {}, gone |-> {}, forced |-> 0, w |-> NoWait,
                 th |-> [t \in Threads(c) |-> [st |-> "idle", a |-> 0]]]]
    /\ mail = {} /\ stray = {} /\ given = {} /\ grown = TRUE /\ once = TRUE /\ silent = FALSE /\ faults = Faults

\* What a thread has to do in the end, if nobody else does.
\* @lua - @java Residence#take
Local(c) ==
    \/ UnlockOwn(c)
    \/ \E t \in Threads(c) : Enter(c, t) \/ Show(c, t) \/ Look(c, t) \/ Unlock(c, t) \/ PassOn(c, t) \/ LastLook(c, t)

\* And what it may do.
\* @lua - @java Entries#acquired
Use(c) == GiveUpAwait(c) \/ \E t \in Threads(c) : Want(c, t) \/ Acquires(c, t) \/ Depart(c, t) \/ StartAwait(c, t)

\* @lua - @java Residences#inspect
EndDeaf(c) == MustEnd(c) /\ GiveUp(c)

\* @lua renew.lua @java Residences#look
RenewInTime(c) == MustRenew(c) /\ Renewal(c)

Steps(c) ==
    \/ Ask(c) \/ StartBeat(c) \/ Serve(c) \/ Receive(c) \/ EndInRedis(c) \/ Lapse(c) \/ Tell(c)
    \/ EndDeaf(c) \/ RenewInTime(c) \/ Renewed(c) \/ AskAwait(c) \/ BeatOwn(c)
    \/ \E e \in cl[c].cmds : DoCommand(c, e)

Next ==
    \/ Tick \/ Force \/ Wipe \/ SetBack
    \/ \E r \in stray : RunLate(r)
    \/ \E m \in mail : Deliver(m)
    \/ \E c \in Clients :
        \/ Steps(c) \/ NotAnswered(c) \/ Told(c) \/ ToldOwn(c) \/ GiveUp(c) \/ Renewal(c) \/ Crash(c) \/ Cut(c)
        \/ Local(c) \/ Use(c)

Spec == Init /\ [][Next]_vars

\* Time goes on, everybody acts who has to, no message is late for ever, and nobody holds for ever.
FairSpec ==
    /\ Spec
    /\ SF_vars(Tick) /\ WF_vars(\E m \in mail : Deliver(m)) /\ WF_vars(\E c \in Clients : Steps(c))
    /\ WF_vars(\E c \in Clients : Local(c))

-----------------------------------------------------------------------------

\* Whoever calls itself the holder is so in Redis, by the residence or by itself, unless that was taken away.
Honest ==
    \A c \in Clients : \A t \in Threads(c) :
        Believes(c, t) /\ cl[c].forced # cl[c].th[t].a => Mine(srv, c, cl[c].th[t].a)

\* Of all threads of all clients, one.
Exclusion ==
    \A c, d \in Clients : \A t \in Threads(c), u \in Threads(d) :
        /\ Believes(c, t) /\ Believes(d, u) /\ <<c, t>> # <<d, u>>
        /\ cl[c].forced # cl[c].th[t].a /\ cl[d].forced # cl[d].th[u].a
        => FALSE

\* A hold whose residence is over is notified, or will be by the loss under way; and no hold is notified of another's loss.
ToldOnce ==
    /\ ~silent
    /\ \A c \in Clients : \A t \in Threads(c) :
        cl[c].th[t].st = "held" =>
            \/ cl[c].st = "valid" /\ cl[c].a = cl[c].th[t].a
            \/ cl[c].losing = cl[c].th[t].a

\* What is in Redis has somebody who looks after it, or was lost by its deadline, or its client is dead.
NoOrphan ==
    srv.owner # None =>
        LET me == cl[srv.owner] IN
        \/ ~me.live
        \/ me.st # "none" /\ srv.a = me.a
        \/ me.w.a = srv.a
        \/ srv.a \in me.gone
        \/ \E e \in me.cmds : srv.a = e.a

\* Every token is greater than all before it; those apart that are counted for a residence that was taken away.
Growing == [][grown']_vars
\* And those too are nobody else's.
Unique == once

\* Nobody who lives waits for ever. Each waits only a few times.
Waiting == \E c \in Clients : cl[c].st \in {"asks", "line"} \/ cl[c].w.st = "line"
NoLostWakeUp == Waiting ~> ~Waiting

=============================================================================
