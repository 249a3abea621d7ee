------------------------------- MODULE Lease -------------------------------
(***************************************************************************)
(* A hold as a lease: acquire, re-enter, renew, inner and last release,    *)
(* leave, on a network that loses, delays and repeats. No queue: see Queue. *)
(*                                                                         *)
(* Time is a set of countdowns, all moved by Tick. Redis' count one for    *)
(* one; those of a client may stand still for up to Drift ticks in all, so *)
(* a client's clock is slow, which is the direction that endangers. A      *)
(* pause needs no action of its own: no action is forced to happen.        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Clients,    \* each is one client with one thread that uses the lock
    Rival,      \* whether somebody besides takes the lock when it is free, and releases or forgets it
    Attempts,   \* calls of lock() per client
    Short,      \* the lease that an acquisition asks for
    Long,       \* the lease that a re-entry or a renewal asks for
    Drift,      \* the margin, and what the clocks drift apart
    Timeout,    \* how long a request is waited for, and worth running: notAfter
    Tries,      \* how often an attempt asks
    Quick,      \* whether it asks by take.lua first
    Renews,     \* whether there is a watchdog
    Depth,      \* how often a lock may be held at once
    Strays,     \* how many requests the network may keep for a second, late run
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the hash of the lock, its time to live, the released mark
    cl,         \* the clients
    stray,      \* requests that may still run, though nobody waits for the answer
    owed,       \* whether a hold was lost after its caller had it, and no holder has been told since
    silent      \* whether a holder was not told

vars == <<srv, cl, stray, owed, silent>>

None == "none"
Max(x, y) == IF x > y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0

(***************************************************************************)
(* The scripts, as functions from a state of Redis and a request to an     *)
(* answer and a new state. Nothing else changes Redis.                     *)
(***************************************************************************)

Free(s, good) == [s EXCEPT !.owner = None, !.a = 0, !.holds = 0, !.ttl = 0, !.lost = FALSE, !.good = good]

\* No script shortens a lease.
Extend(s, lease) == [s EXCEPT !.ttl = IF Broken = "shorterLease" THEN lease ELSE Max(@, lease)]

Mine(s, r) ==
    /\ s.owner = r.c
    /\ s.a = r.a \/ (Broken = "lateRelease" /\ r.op = "release")

Own(s, r, good) ==
    [ans |-> "OK",
     s |-> [owner |-> r.c, a |-> r.a, holds |-> 1, ttl |-> r.lease, lost |-> ~good,
            good |-> FALSE]]

Same(s, answer) == [ans |-> answer, s |-> s]

\* A hold that was never returned to its caller took the news of a loss with it.
Untold(s) == s.lost /\ Broken # "newsLost"

\* acquire.lua, mode barge
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, r) ==
    IF r.na = 0 /\ Broken # "noNotAfter" THEN Same(s, "LATE")
    ELSE IF s.owner = None THEN Own(s, r, s.good)
    ELSE IF s.owner # r.c \/ s.a > r.a THEN Same(s, "BUSY")
    ELSE IF s.a = r.a \/ Broken = "staleAdopted"
         THEN [ans |-> "OK", s |-> IF Broken = "doneBefore" THEN s ELSE Extend(s, r.lease)]
    ELSE Own(s, r, (s.a > r.suspect \/ Broken = "phantomIsGood") /\ ~Untold(s))

\* take.lua: only a lock whose last hold was released. It knows no holds: a second run leaves all to acquire.
\* @lua take.lua @java Scripts#take
Take(s, r) ==
    IF r.na = 0 THEN Same(s, "LATE")
    ELSE IF s.owner = None /\ (s.good \/ Broken = "takenUnmarked") THEN Own(s, r, TRUE)
    ELSE Same(s, IF s.owner \in {None, r.c} THEN "LINE" ELSE "BUSY")

\* reenter.lua
\* @lua reenter.lua @java Scripts#reenter
Reenter(s, r) ==
    IF ~Mine(s, r) THEN Same(s, "GONE")
    ELSE [ans |-> "OK",
          s |-> [Extend(s, r.lease) EXCEPT
                    !.holds = IF @ = r.n \/ Broken \in {"countInRedis", "blindCount"} THEN @ + 1 ELSE @]]

\* release_inner.lua
\* @lua release_inner.lua @java Scripts#releaseInner
Exit(s, r) ==
    IF ~Mine(s, r) THEN Same(s, "GONE")
    ELSE [ans |-> "DONE", s |-> [s EXCEPT !.holds = IF @ = r.n /\ @ > 1 THEN @ - 1 ELSE @]]

\* release.lua
\* @lua release.lua @java Scripts#release
Release(s, r) ==
    IF ~Mine(s, r) THEN Same(s, "GONE")
    ELSE IF Broken = "countInRedis" /\ s.holds > 1
         THEN [ans |-> "DONE", s |-> [s EXCEPT !.holds = @ - 1]]
    ELSE [ans |-> "FREED", s |-> Free(s, TRUE)]

\* leave.lua. What was lost after its caller had it ends without good order.
\* @lua leave.lua @java Scripts#leave
Leave(s, r) ==
    IF ~Mine(s, r) THEN Same(s, "DONE")
    ELSE [ans |-> "DONE", s |-> Free(s, (r.a > r.suspect \/ Broken = "leaveMarks") /\ ~Untold(s))]

\* renew.lua
\* @lua renew.lua @java Scripts#renew
Renew(s, r) ==
    IF ~Mine(s, r) THEN Same(s, "GONE") ELSE [ans |-> "OK", s |-> Extend(s, r.lease)]

Run(s, r) ==
    CASE r.op = "acquire" -> Acquire(s, r)
      [] r.op = "take" -> Take(s, r)
      [] r.op = "reenter" -> Reenter(s, r)
      [] r.op = "exit" -> Exit(s, r)
      [] r.op = "release" -> Release(s, r)
      [] r.op = "leave" -> Leave(s, r)
      [] r.op = "renew" -> Renew(s, r)

(***************************************************************************)
(* The wire. A lane has one request under way: the thread's, and that of   *)
(* the watchdog. What is sent may also be kept by the network, to run once *)
(* more, at any time.                                                      *)
(***************************************************************************)

NoCall == [op |-> None]
Asks == {"acquire", "take"}

Request(c, op, lease) ==
    [op |-> op, c |-> c, a |-> cl[c].a, n |-> cl[c].count, lease |-> lease,
     suspect |-> cl[c].suspect, na |-> IF op \in Asks THEN Timeout ELSE 0]

Keep(r) == stray' \in {stray, stray \union {r}} /\ Cardinality(stray') <= Max(Strays, Cardinality(stray))

\* What the step from srv to s ends or replaces, if its caller had it and has not released it, is a loss.
Owe(s) ==
    owed' = (owed \/ /\ srv.owner \in Clients /\ srv.a \in cl[srv.owner].open
                     /\ <<s.owner, s.a>> # <<srv.owner, srv.a>>)

\* Redis runs a request whose sender is waiting; the answer is on its way.
\* @lua hold.lua @java MonitoredRedis#run
Serve(c, lane) ==
    LET call == cl[c][lane] IN
    /\ call.op # None /\ call.ans = None
    /\ LET out == Run(srv, call.r) IN
        /\ srv' = out.s
        /\ cl' = [cl EXCEPT ![c][lane].ans = out.ans, ![c][lane].r.na = 0]
        /\ Owe(out.s)
    /\ UNCHANGED <<stray, silent>>

\* Redis runs a request that nobody waits for any more, or runs it again.
\* @world
RunLate(r) ==
    LET out == Run(srv, r) IN
    /\ srv' = out.s
    /\ Owe(out.s)
    /\ stray' = stray \ {r}
    /\ UNCHANGED <<cl, silent>>

\* A thread without a hold or a wish for one. The record of the loss stays with it.
Idle(me) == [me EXCEPT !.st = "idle", !.call = NoCall, !.ren = NoCall, !.left = 0, !.count = 0, !.tries = 0, !.doubt = FALSE]
Lost(me) == [Idle(me) EXCEPT !.suspect = me.a]

(***************************************************************************)
(* The client. left is the time to the validity deadline.                  *)
(***************************************************************************)

Call(r) == [op |-> r.op, age |-> 0, ans |-> None, r |-> r]

Send(c, r) == cl' = [cl EXCEPT ![c].call = Call(r)] /\ Keep(r) /\ UNCHANGED <<srv, owed, silent>>

Holds(c) == cl[c].st = "held" /\ cl[c].left > 0

Asking(c, me, op) ==
    LET r == [Request(c, op, Short) EXCEPT !.a = me.a, !.n = 0] IN
    /\ cl' = [cl EXCEPT ![c] = [me EXCEPT !.tries = @ + 1, !.call = Call(r)]]
    /\ Keep(r)
    /\ UNCHANGED <<srv, owed, silent>>

\* Client.begin: a new call of lock() has a new number, and asks.
\* @lua acquire.lua @java Attempts#begin
Begin(c) ==
    /\ cl[c].st = "idle" /\ cl[c].a < Attempts
    /\ \E op \in IF Quick THEN Asks ELSE {"acquire"} : Asking(c, [cl[c] EXCEPT !.st = "trying", !.a = @ + 1], op)

\* Contention.ask, once more
\* @lua acquire.lua @java BlockingDriver#ask
Ask(c) ==
    /\ cl[c].st = "trying" /\ cl[c].call = NoCall /\ cl[c].tries < Tries
    /\ Asking(c, cl[c], "acquire")

\* How long an answer of this age is good for: it is dated from the sending of its request.
Validity(call) ==
    LET margin == IF Broken = "noMargin" THEN 0 ELSE Drift
        age == IF Broken = "datedByReceipt" THEN 0 ELSE call.age
        gone == margin + age
    IN IF call.r.lease > gone THEN call.r.lease - gone ELSE 0

\* Doubt: whether the leave says until when a request may still run. Again: whether it waits for Redis to have passed that.
Command(op, a, doubt) == {[op |-> op, a |-> a, doubt |-> doubt /\ Broken # "leaveOnce", again |-> FALSE]}

\* Contention.settle: the hold begins. A copy of the request that went unanswered may still run: Succession.leaveLater.
Settle(me, validity) ==
    [me EXCEPT !.st = "held", !.count = 1, !.left = validity, !.open = @ \union {me.a},
               !.commands = @ \union (IF me.doubt /\ Broken # "noLateLeave" THEN Command("leave", me.a, TRUE) ELSE {})]

\* Whether the transport sent the request more than once, which the answer says: Reply.resent.
Repeated(c) == \E r \in stray : r.op \in Asks /\ r.c = c /\ r.a = cl[c].a

\* @lua acquire.lua @java Settlements.Settlement#settle
Receive(c) ==
    LET me == cl[c]
        call == me.call
        validity == Validity(call)
        asked == [me EXCEPT !.doubt = @ \/ (call.op \in Asks /\ Repeated(c)), !.call = NoCall]
    IN
    /\ call.op # None /\ call.ans # None
    /\ cl' = [cl EXCEPT ![c] =
        CASE call.op \in Asks ->
                IF call.ans = "OK" /\ validity > 0 THEN Settle(asked, validity) ELSE asked
          [] call.op = "reenter" ->
                IF call.ans = "OK" /\ me.left > 0
                THEN [me EXCEPT !.call = NoCall, !.count = @ + 1, !.left = Max(@, validity)]
                ELSE Lost(me)
          [] call.op = "exit" ->
                IF call.ans = "DONE" THEN [me EXCEPT !.call = NoCall, !.count = @ - 1]
                ELSE Lost(me)
          [] call.op = "release" -> Idle(me)]
    /\ LET settled == call.op \in Asks /\ call.ans = "OK" /\ validity > 0 IN
        /\ silent' = (silent \/ (settled /\ owed /\ ~srv.lost))
        /\ owed' = (owed /\ ~settled)
    /\ UNCHANGED <<srv, stray>>

\* A request times out, or its connection breaks. The answer, if there was one, is lost.
\* @lua acquire.lua @java Acquisitions.OfLock#failed
Unanswered(c) ==
    LET me == cl[c] IN
    /\ me.call.op # None
    /\ cl' = [cl EXCEPT ![c] =
        CASE me.call.op \in Asks -> [me EXCEPT !.call = NoCall, !.doubt = TRUE]
          [] me.call.op = "reenter" -> [me EXCEPT !.call = NoCall]
          [] me.call.op = "exit" -> [me EXCEPT !.call = NoCall, !.count = @ - 1]
          [] me.call.op = "release" ->
                [Idle(me) EXCEPT !.commands = @ \union Command("release", me.a, FALSE)]]
    /\ UNCHANGED <<srv, stray, owed, silent>>

\* Contention.giveUp -> Succession.depart: a leave at once, which says what may still run.
\* @lua leave.lua @java Acquisitions.OfLock#next
GiveUp(c) ==
    /\ cl[c].st = "trying" /\ cl[c].call = NoCall
    /\ cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.commands = @ \union Command("leave", cl[c].a, cl[c].doubt)]]
    /\ UNCHANGED <<srv, stray, owed, silent>>

\* Sync.reenter
\* @lua reenter.lua @java Entries#reenter
StartReenter(c) == Holds(c) /\ cl[c].call = NoCall /\ cl[c].count < Depth /\ Send(c, Request(c, "reenter", Long))

\* Sync.exit
\* @lua release_inner.lua @java Exits#exit
StartExit(c) == Holds(c) /\ cl[c].call = NoCall /\ cl[c].count > 1 /\ Send(c, Request(c, "exit", 0))

\* Sync.release: from here on the client does not call itself the holder.
\* @lua release.lua @java Exits#release
StartRelease(c) ==
    /\ Holds(c) /\ cl[c].call = NoCall /\ cl[c].count = 1
    /\ LET r == Request(c, "release", 0) IN
        /\ cl' = [cl EXCEPT ![c].st = "releasing", ![c].left = 0, ![c].open = @ \ {cl[c].a}, ![c].call = Call(r),
                            ![c].ren = NoCall]
        /\ Keep(r)
    /\ UNCHANGED <<srv, owed, silent>>

\* Client.isValid: the deadline has passed, and the hold is lost.
\* @lua - @java Losses#isValid
Lapse(c) ==
    /\ cl[c].st = "held" /\ cl[c].left = 0
    /\ cl' = [cl EXCEPT ![c] = Lost(@)]
    /\ UNCHANGED <<srv, stray, owed, silent>>

\* Renewals.Renewal.call
\* @lua renew.lua @java Renewal#call
StartRenewal(c) ==
    /\ Renews /\ Holds(c) /\ cl[c].ren = NoCall
    /\ LET r == [Request(c, "renew", Long) EXCEPT !.n = 0] IN
        cl' = [cl EXCEPT ![c].ren = Call(r)] /\ Keep(r)
    /\ UNCHANGED <<srv, owed, silent>>

\* Renewals.Renewal.answered, failed. A deadline that has passed is never moved on: Hold.extend.
\* @lua renew.lua @java Renewal#answered
EndRenewal(c) ==
    LET me == cl[c] IN
    /\ me.ren.op # None
    /\ cl' = [cl EXCEPT ![c] =
        IF me.ren.ans = "OK" /\ me.left > 0 THEN [me EXCEPT !.ren = NoCall, !.left = Max(@, Validity(me.ren))]
        ELSE IF me.ren.ans = "GONE"
        THEN Lost(me)
        ELSE [me EXCEPT !.ren = NoCall]]
    /\ UNCHANGED <<srv, stray, owed, silent>>

\* Errand: sent until it is answered; a leave only while its attempt holds nothing (Succession.leaveLater), and again as
\* long as Redis says, by its own clock, that a request of the attempt may run.
\* @lua leave.lua @java PendingCommand#call
DoCommand(c, e) ==
    LET me == cl[c]
        r == [op |-> e.op, c |-> c, a |-> e.a, n |-> 0, lease |-> 0, suspect |-> me.suspect, na |-> 0]
        late == {x \in stray : x.op \in Asks /\ x.c = c /\ x.a = e.a /\ x.na > 0}
        done == (me.commands \ {e}) \union (IF e.doubt /\ late # {} THEN {[e EXCEPT !.again = TRUE]} ELSE {})
    IN
    /\ me.st \in {"held", "releasing"} => me.a # e.a
    /\ e.again => late = {}
    /\ srv' = Run(srv, r).s
    /\ cl' \in {cl, [cl EXCEPT ![c].commands = done]}
    /\ Keep(r)
    /\ Owe(srv')
    /\ UNCHANGED silent

\* Another, of whom only this counts: it takes a free lock, and gives it back or vanishes.
\* @world
Other ==
    /\ Rival
    /\ IF srv.owner = None
       THEN LET s == Own(srv, [c |-> "rival", a |-> 1, lease |-> Long], srv.good).s IN
            srv' = s /\ silent' = (silent \/ (owed /\ ~s.lost)) /\ owed' = FALSE
       ELSE srv.owner = "rival" /\ srv' = Free(srv, TRUE) /\ UNCHANGED <<owed, silent>>
    /\ UNCHANGED <<cl, stray>>

(***************************************************************************)
(* Time                                                                    *)
(***************************************************************************)

Aged(call) == IF call.op = None THEN call ELSE [call EXCEPT !.age = IF @ < Long THEN @ + 1 ELSE @]
Older(r) == [r EXCEPT !.na = Less(@)]
OlderCall(call) == IF call.op = None \/ call.ans # None THEN call ELSE [call EXCEPT !.r = Older(@)]

\* Whether the client counts any time: only then does it matter that its clock is slow.
Counts(c) == cl[c].left > 0 \/ cl[c].call # NoCall \/ cl[c].ren # NoCall

Moved(me, slow) ==
    LET m == [me EXCEPT !.call = OlderCall(@)] IN
    IF slow THEN [m EXCEPT !.slow = @ + 1]
    ELSE [m EXCEPT !.left = Less(@), !.call = Aged(@), !.ren = Aged(@)]

\* @world
Tick ==
    /\ srv' = IF srv.ttl = 1 THEN Free(srv, FALSE) ELSE [srv EXCEPT !.ttl = Less(@)]
    /\ \E slow \in SUBSET {c \in Clients : Counts(c) /\ cl[c].slow < Drift} :
        cl' = [c \in Clients |->
                 LET m == Moved(cl[c], c \in slow) IN IF Counts(c) THEN m ELSE [m EXCEPT !.slow = 0]]
    \* An acquisition whose time is over changes nothing any more: as good as gone.
    /\ stray' = {r \in {Older(r) : r \in stray} : r.op \notin Asks \/ r.na > 0 \/ Broken = "noNotAfter"}
    /\ Owe(srv')
    /\ UNCHANGED silent

-----------------------------------------------------------------------------

Init ==
    /\ srv = [owner |-> None, a |-> 0, holds |-> 0, ttl |-> 0, lost |-> FALSE, good |-> TRUE]
    /\ cl = [c \in Clients |->
                [st |-> "idle", a |-> 0, count |-> 0, left |-> 0, call |-> NoCall, ren |-> NoCall, tries |-> 0,
                 doubt |-> FALSE, commands |-> {}, open |-> {}, suspect |-> 0, slow |-> 0]]
    /\ stray = {}
    /\ owed = FALSE
    /\ silent = FALSE

Next ==
    \/ Tick
    \/ Other
    \/ \E r \in stray : RunLate(r)
    \/ \E c \in Clients :
        \/ Begin(c) \/ Ask(c) \/ Receive(c) \/ Unanswered(c) \/ GiveUp(c)
        \/ StartReenter(c) \/ StartExit(c) \/ StartRelease(c) \/ Lapse(c)
        \/ StartRenewal(c) \/ EndRenewal(c)
        \/ Serve(c, "call") \/ Serve(c, "ren")
        \/ \E e \in cl[c].commands : DoCommand(c, e)

Symmetry == Permutations(Clients)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* Whoever is within its deadline owns the lock in Redis, by this attempt.
Honest == \A c \in Clients : Holds(c) => srv.owner = c /\ srv.a = cl[c].a

\* Follows from Honest, but is what users ask for.
Exclusion == \A c, d \in Clients : Holds(c) /\ Holds(d) => c = d

\* What is in Redis has somebody who looks after it, or was lost by somebody who had it and ends with its lease.
NoOrphan ==
    srv.owner \in Clients =>
        LET me == cl[srv.owner] IN
        \/ me.a = srv.a /\ me.st # "idle"
        \/ srv.a \in me.open
        \/ \E e \in me.commands : e.a = srv.a

\* The next holder learns of a hold that was lost after its caller had it.
Told == ~silent

\* A script that runs twice at once leaves the state that it left the first time; where it said OK, it says OK again.
Once ==
    \A r \in stray \union {cl[c].call.r : c \in {d \in Clients : cl[d].call # NoCall}} :
        LET first == Run(srv, r)
            second == Run(first.s, r)
        IN second.s = first.s /\ (first.ans = "OK" /\ r.op # "take" => second.ans = "OK")

=============================================================================
