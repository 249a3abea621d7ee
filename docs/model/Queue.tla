------------------------------- MODULE Queue -------------------------------
(***************************************************************************)
(* The line of waiters: places that are leases, grants for a claim that a   *)
(* message tells, heartbeats that find what no message told, leaving.       *)
(* What Lease checks already (re-entry, renewal, marks) is left out.        *)
(*                                                                         *)
(* Time is a set of countdowns, as in Lease. Everybody is prompt, except by *)
(* a fault: Tick waits for all that is due. A request lost, an answer lost, *)
(* a tick that does not wait (a pause, a delay), a slow clock, a crash, a   *)
(* subscription cut: each costs one of Faults. A message of the mailbox may *)
(* come late or never without any. So safety is checked under all ways to   *)
(* spend the faults, and liveness for the time after the last.              *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,    \* each is one client, of which one thread passes the local queue
    Attempts,   \* calls of lock() per client
    Fair,       \* whether a free lock goes to the first in line only
    Quick,      \* whether the short forms take.lua and free.lua may come first
    Lease, Claim, Heartbeat, Timeout,
    Drift,      \* the margin; a client's clock stands still for so many ticks in all at most
    Behind,     \* how much a client's idea of Redis' time comes to be behind: by a step of that clock, or by drift
    Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: hash, waited in it, time to live, last token and the '+' behind it, queue in order
    cl,         \* the clients
    mail,       \* messages on their way to a mailbox
    stray,      \* requests that may still run, though nobody waits for the answer
    faults      \* how many are left

vars == <<srv, cl, mail, stray, faults>>

None == "none"
Max(x, y) == IF x > y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0
Minus(x, y) == IF x > y THEN x - y ELSE 0

(***************************************************************************)
(* The scripts. Each gives an answer, a new state and the messages it       *)
(* publishes.                                                               *)
(***************************************************************************)

Out(s, ans, msgs) == [s |-> s, ans |-> ans, msgs |-> msgs]
Ans(code, token) == [code |-> code, token |-> token]

\* A place is of one attempt.
Is(p, c, a) == p.c = c /\ p.a = a
Without(s, c, a) == [s EXCEPT !.q = SelectSeq(@, LAMBDA p : ~Is(p, c, a))]
Crowded(s) == s.q # <<>>

\* line_up in line.lua
LineUp(s, c, a) ==
    LET waited == s.waited \/ (s.owner # None /\ Broken # "notWaited") IN
    IF \E i \in 1..Len(s.q) : Is(s.q[i], c, a)
    THEN [s EXCEPT !.q = [i \in 1..Len(@) |-> IF Is(@[i], c, a) THEN [@[i] EXCEPT !.life = Claim] ELSE @[i]], !.waited = waited]
    ELSE [s EXCEPT !.q = Append(@, [c |-> c, a |-> a, life |-> Claim]), !.waited = waited]

\* own in line.lua
Own(s, c, a, lease) ==
    [s EXCEPT !.owner = c, !.a = a, !.ttl = lease, !.token = s.last + 1, !.last = s.last + 1, !.plus = FALSE,
              !.waited = Crowded(s)]
Gone(s) == [s EXCEPT !.owner = None, !.a = 0, !.ttl = 0, !.token = 0, !.waited = FALSE]
\* remember in line.lua: the fence of a released lock says whether there are waiters.
Free(s) == [Gone(s) EXCEPT !.plus = ~Crowded(s) \/ Broken = "alwaysPlus"]
Extend(s, lease) == [s EXCEPT !.ttl = Max(@, lease)]

\* grant in line.lua: a place that has lapsed is dropped, one whose client cannot be told keeps its place.
Nobody == [c |-> None, a |-> 0]
Grant(s, asker, lease) ==
    LET asks(p) == Is(p, asker.c, asker.a)
        ready(i) == s.q[i].life > 0 /\ (asks(s.q[i]) \/ cl[s.q[i].c].sub)
        all == {i \in 1..Len(s.q) : ready(i)}
        live == SelectSeq(s.q, LAMBDA p : p.life > 0)
    IN IF all = {} THEN Out([s EXCEPT !.q = live], Ans(None, 0), {})
       ELSE LET first == CHOOSE i \in all : \A j \in all : i <= j
                p == s.q[first]
                t == Own([s EXCEPT !.q = SelectSeq(SubSeq(s.q, 1, first - 1), LAMBDA x : x.life > 0)
                                         \o SubSeq(s.q, first + 1, Len(s.q))],
                         p.c, p.a, IF asks(p) THEN lease ELSE Claim)
            IN Out(t, Ans(IF asks(p) THEN "OK" ELSE "GRANTED", t.token),
                   IF asks(p) THEN {} ELSE {[c |-> p.c, a |-> p.a, token |-> t.token, behind |-> cl[p.c].behind, age |-> 0]})

\* acquire.lua, with a place. What an earlier attempt of the client left behind is given up.
\* @lua acquire.lua @java Scripts#acquire
Acquire(s, r) ==
    LET free == IF s.owner = None THEN s ELSE Free(s)
        won == Grant(LineUp(free, r.c, r.a), r, Lease)
        own == Own(Without(free, r.c, r.a), r.c, r.a, Lease)
    IN
    IF r.na = 0 THEN Out(s, Ans("LATE", 0), {})
    ELSE IF s.owner \notin {None, r.c} \/ s.a > r.a THEN Out(LineUp(s, r.c, r.a), Ans("QUEUED", s.last), {})
    ELSE IF s.owner = r.c /\ s.a = r.a THEN Out(Extend(s, Lease), Ans("OK", s.token), {})
    ELSE IF Fair /\ Crowded(s) /\ Broken # "barging"
         THEN Out(won.s, Ans(IF won.ans.code = "OK" THEN "OK" ELSE "QUEUED", won.ans.token), won.msgs)
    ELSE Out(own, Ans("OK", own.token), {})

\* take.lua: takes the fence's word that the lock is free and nobody stands in line.
\* @lua take.lua @java Scripts#take
Take(s, r) ==
    IF r.na = 0 THEN Out(s, Ans("LATE", 0), {})
    ELSE IF s.plus THEN LET own == [Own(s, r.c, r.a, Lease) EXCEPT !.waited = FALSE] IN Out(own, Ans("OK", own.token), {})
    ELSE Out(s, Ans(IF s.owner \in {None, r.c} THEN "LINE" ELSE "BUSY", 0), {})

\* heartbeat.lua
\* @lua heartbeat.lua @java Scripts#heartbeat
Beat(s, r) ==
    LET lined == LineUp(s, r.c, r.a)
        won == Grant(lined, r, Claim)
    IN
    IF r.na = 0 /\ Broken # "lateBeat" THEN Out(s, Ans("LATE", 0), {})
    ELSE IF s.owner = r.c /\ s.a = r.a THEN Out(Extend(s, Claim), Ans("GRANTED", s.token), {})
    ELSE IF s.owner # None THEN Out(lined, Ans("QUEUED", s.last), {})
    ELSE Out(won.s, IF won.ans.code = "OK" THEN Ans("GRANTED", won.ans.token) ELSE Ans("QUEUED", won.s.last), won.msgs)

\* release.lua and leave.lua, without a successor; and free.lua, which looks no further if nobody has come to wait.
End(s, c, a, quick) ==
    LET left == Without(s, c, a) IN
    IF s.owner # c \/ s.a # a \/ Broken = "leavePlaceOnly" THEN Out(left, Ans("DONE", 0), {})
    ELSE IF quick /\ (~s.waited \/ Broken = "freedUnasked") THEN Out([Gone(s) EXCEPT !.plus = TRUE], Ans("DONE", 0), {})
    ELSE LET won == Grant(Gone(left), Nobody, 0) IN IF won.s.owner = None THEN Out(Free(won.s), Ans("FREED", 0), {}) ELSE won

Run(s, r) ==
    CASE r.op = "take" -> Take(s, r)
      [] r.op = "acquire" -> Acquire(s, r)
      [] r.op = "beat" -> Beat(s, r)

\* PUBLISH: a message may be lost, which is the same as one that never comes.
Publish(msgs) == mail' \in {mail, mail \union msgs}

-----------------------------------------------------------------------------

NoCall == [op |-> None]
NoStand == [age |-> 0, last |-> 0, is |-> FALSE]
Call(c, op, a) == [op |-> op, age |-> 0, ans |-> Ans(None, 0), r |-> [op |-> op, c |-> c, a |-> a, na |-> Timeout]]

Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults
Holds(c) == cl[c].st = "held" /\ cl[c].left > 0

Later(commands, a, wait) == commands \union {[a |-> a, wait |-> wait, quick |-> FALSE]}

\* Client.begin, Contention.ask
\* @lua acquire.lua @java Attempts#begin
Begin(c) ==
    /\ cl[c].live /\ cl[c].st = "idle" /\ cl[c].a < Attempts /\ cl[c].call = NoCall
    /\ \E op \in IF Quick THEN {"take", "acquire"} ELSE {"acquire"} :
        cl' = [cl EXCEPT ![c].st = "wait", ![c].a = @ + 1, ![c].call = Call(c, op, cl[c].a + 1)]
    /\ UNCHANGED <<srv, mail, stray, faults>>

MayAsk(c) == cl[c].live /\ cl[c].st = "wait" /\ ~cl[c].stand.is /\ cl[c].call = NoCall
\* Contention.ask
\* @lua acquire.lua @java BlockingDriver#ask
Ask(c) ==
    /\ MayAsk(c)
    /\ cl' = [cl EXCEPT ![c].call = Call(c, "acquire", cl[c].a)]
    /\ UNCHANGED <<srv, mail, stray, faults>>

MayBeat(c) ==
    cl[c].live /\ cl[c].st = "wait" /\ cl[c].stand.is /\ cl[c].hb = 0 /\ cl[c].call = NoCall /\ Broken # "noTimer"
\* Heartbeats.Heartbeat.call
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
StartBeat(c) ==
    /\ MayBeat(c)
    /\ cl' = [cl EXCEPT ![c].call = Call(c, "beat", cl[c].a)]
    /\ UNCHANGED <<srv, mail, stray, faults>>

MayServe(c) == cl[c].call # NoCall /\ cl[c].call.ans.code = None
\* @lua line.lua @java MonitoredRedis#run
Serve(c) ==
    LET out == Run(srv, cl[c].call.r) IN
    /\ MayServe(c)
    /\ srv' = out.s
    /\ Publish(out.msgs)
    /\ cl' = [cl EXCEPT ![c].call.ans = out.ans, ![c].call.r.na = 0]
    /\ UNCHANGED <<stray, faults>>

\* @world
RunLate(r) ==
    LET out == Run(srv, r) IN
    /\ srv' = out.s
    /\ Publish(out.msgs)
    /\ stray' = stray \ {r}
    /\ UNCHANGED <<cl, faults>>

Idle(me) == [me EXCEPT !.st = "idle", !.stand = NoStand, !.hb = 0, !.left = 0, !.conf = FALSE, !.quiet = 0]

\* Contention.settle; what an unanswered request may do later is undone by Succession.leaveLater.
Settle(me, a, validity, conf) ==
    IF validity = 0 THEN [me EXCEPT !.stand = NoStand]
    ELSE [Idle(me) EXCEPT !.st = "held", !.left = validity, !.conf = conf,
             !.commands = IF me.quiet > 0 /\ Broken # "noLateLeave" THEN Later(@, a, me.quiet) ELSE @]

ClaimOf == IF Broken = "fullLease" THEN Lease ELSE Claim

\* Contention.ask and Heartbeats.Heartbeat.answered
MayReceive(c) == cl[c].live /\ cl[c].call # NoCall /\ cl[c].call.ans.code # None
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
Receive(c) ==
    LET me == [cl[c] EXCEPT !.call = NoCall]
        call == cl[c].call
        code == call.ans.code
        mine == me.st = "wait" /\ me.a = call.r.a
        held == me.st = "held" /\ me.a = call.r.a
    IN
    /\ MayReceive(c)
    /\ cl' = [cl EXCEPT ![c] =
        CASE mine /\ code = "OK" -> Settle(me, me.a, Minus(Lease, Drift + call.age), TRUE)
          [] mine /\ code = "GRANTED" -> Settle(me, me.a, Minus(ClaimOf, Drift + call.age), FALSE)
          [] mine /\ code = "QUEUED" ->
                [me EXCEPT !.stand = [age |-> call.age, last |-> call.ans.token, is |-> TRUE], !.hb = Heartbeat]
          \* The attempt ended while it was asked for, so it may have a place or the lock again.
          [] ~mine /\ ~(held /\ code = "GRANTED") /\ code \in {"GRANTED", "QUEUED"} /\ Broken # "endedBeat" ->
                [me EXCEPT !.commands = Later(@, call.r.a, 0)]
          [] OTHER -> me]
    /\ UNCHANGED <<srv, mail, stray, faults>>

\* A request or its answer is lost; it may run later, for as long as it is worth it.
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#failed
Unanswered(c) ==
    LET me == cl[c]
        rest == Minus(Timeout, me.call.age) + Drift
        mine == me.st = "wait" /\ me.a = me.call.r.a
    IN
    /\ me.live /\ me.call # NoCall /\ Fault
    /\ cl' = [cl EXCEPT ![c] =
        [me EXCEPT !.call = NoCall,
                   !.hb = IF mine /\ me.stand.is THEN Heartbeat ELSE @,
                   !.quiet = IF mine THEN Max(@, rest) ELSE @,
                   !.commands = IF mine THEN @ ELSE Later(@, me.call.r.a, rest)]]
    /\ stray' \in {stray, stray \union (IF me.call.ans.code = None THEN {me.call.r} ELSE {})}
    /\ UNCHANGED <<srv, mail>>

\* What is not done: to date a grant by the time of Redis in its message, and what the client takes Redis' time to be.
DatedByServer == Broken \in {"datedAfterStep", "datedAfterDrift"}

\* Mailbox.deliver, then Contention.date: only a token that is new since the last answer was given after that request.
\* @lua line.lua @java Mailbox#deliver
Deliver(m) ==
    LET me == cl[m.c]
        matches == me.live /\ me.st = "wait" /\ (me.a = m.a \/ Broken \in {"lateGrant", "attemptIgnored"})
        fresh == me.stand.is /\ (m.token > me.stand.last \/ Broken \in {"lateGrant", "tokenIgnored"})
        validity == IF DatedByServer THEN Minus(Claim, Drift + Minus(m.age, m.behind))
                    ELSE IF fresh THEN Minus(ClaimOf, Drift + me.stand.age) ELSE 0
    IN
    /\ mail' = mail \ {m}
    /\ matches
    /\ cl' = [cl EXCEPT ![m.c] = Settle(me, me.a, validity, FALSE)]
    /\ UNCHANGED <<srv, stray, faults>>

\* Renewals.Renewal of a claim: renew.lua
MayConfirm(c) == cl[c].live /\ Holds(c) /\ ~cl[c].conf
\* @lua renew.lua @java Renewal#answered
Confirm(c) ==
    /\ MayConfirm(c)
    /\ IF srv.owner = c /\ srv.a = cl[c].a
       THEN /\ srv' = Extend(srv, Lease)
            /\ cl' = [cl EXCEPT ![c].conf = TRUE, ![c].left = Max(@, Lease - Drift)]
       ELSE srv' = srv /\ cl' = [cl EXCEPT ![c] = Idle(@)]
    /\ UNCHANGED <<mail, stray, faults>>

\* Sync.release, by free.lua first if it guesses that nobody waits.
\* @lua release.lua @java Exits#release
Release(c) ==
    /\ cl[c].live /\ Holds(c)
    /\ \E quick \in IF Quick THEN BOOLEAN ELSE {FALSE} :
        cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.commands = @ \union {[a |-> cl[c].a, wait |-> 0, quick |-> quick]}]]
    /\ UNCHANGED <<srv, mail, stray, faults>>

\* Client.isValid
MayLapse(c) == cl[c].live /\ cl[c].st = "held" /\ cl[c].left = 0
\* @lua - @java Losses#isValid
Lapse(c) ==
    /\ MayLapse(c)
    /\ cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.open = @ \union {cl[c].a}]]
    /\ UNCHANGED <<srv, mail, stray, faults>>

\* Contention.giveUp, Succession.depart: a leave at once; if something may still run, another one comes after it.
\* @lua leave.lua @java Acquisitions.OfLock#next
GiveUp(c) ==
    /\ cl[c].live /\ cl[c].st = "wait" /\ (cl[c].call = NoCall \/ cl[c].call.op = "beat")
    /\ cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.commands = Later(Later(@, cl[c].a, 0), cl[c].a, cl[c].quiet)]]
    /\ UNCHANGED <<srv, mail, stray, faults>>

\* Errand: a leave is sent only while its attempt holds nothing; a hold that is over is declared lost first: Client.holds.
MayDo(c, e) ==
    cl[c].live /\ e.wait = 0 /\ (cl[c].st = "held" /\ cl[c].a = e.a => cl[c].left > 0)
\* @lua leave.lua @java PendingCommand#call
DoCommand(c, e) ==
    LET out == End(srv, c, e.a, e.quick) IN
    /\ MayDo(c, e)
    /\ IF cl[c].st = "held" /\ cl[c].a = e.a
       THEN UNCHANGED <<srv, mail, faults>> /\ cl' = [cl EXCEPT ![c].commands = @ \ {e}]
       ELSE /\ srv' = out.s
            /\ Publish(out.msgs)
            /\ \/ cl' = [cl EXCEPT ![c].commands = @ \ {e}] /\ NoFault
               \/ UNCHANGED cl /\ Fault
    /\ UNCHANGED stray

\* A process is killed. Redis may or may not notice that its mailbox has nobody behind it.
\* @world
Crash(c) ==
    /\ cl[c].live /\ Fault
    /\ \E sub \in {cl[c].sub, FALSE} :
        cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.live = FALSE, !.sub = sub, !.commands = {}, !.open = {},
                                                !.call = NoCall, !.slow = 0]]
    /\ stray' = stray \union (IF MayServe(c) THEN {cl[c].call.r} ELSE {})
    /\ UNCHANGED <<srv, mail>>

\* @world
Cut(c) == cl[c].live /\ cl[c].sub /\ Fault /\ cl' = [cl EXCEPT ![c].sub = FALSE] /\ UNCHANGED <<srv, mail, stray>>

\* Mailbox.subscribe; then all waiters ask at once: Client.hurry.
\* @lua - @java Mailbox#subscribe
Resubscribe(c) ==
    /\ cl[c].live /\ ~cl[c].sub
    /\ cl' = [cl EXCEPT ![c].sub = TRUE, ![c].hb = 0]
    /\ UNCHANGED <<srv, mail, stray, faults>>

-----------------------------------------------------------------------------

Due ==
    \E c \in Clients :
        \/ MayAsk(c) \/ MayBeat(c) \/ MayServe(c) \/ MayReceive(c) \/ MayLapse(c)
        \/ MayConfirm(c) /\ cl[c].left = 1
        \/ \E e \in cl[c].commands : MayDo(c, e)

OlderCall(call) ==
    IF call = NoCall \/ call.ans.code # None THEN call ELSE [call EXCEPT !.r.na = Less(@)]
Aged(call) == IF call = NoCall THEN call ELSE [call EXCEPT !.age = IF @ < Lease THEN @ + 1 ELSE @]

Counts(c) == cl[c].live /\ (cl[c].left > 0 \/ cl[c].call # NoCall \/ cl[c].stand.is)

Moved(me, slow) ==
    LET m == [me EXCEPT !.call = OlderCall(@)] IN
    IF slow THEN [m EXCEPT !.slow = @ + 1]
    ELSE [m EXCEPT !.left = Less(@), !.hb = Less(@), !.quiet = Less(@), !.call = Aged(@),
                   !.stand = IF @.is /\ @.age < Claim THEN [@ EXCEPT !.age = @ + 1] ELSE @,
                   !.commands = {[e EXCEPT !.wait = Less(@)] : e \in @}]

\* While it does not wait, a client's clock drifts as long as it likes.
Drifted(me) ==
    IF Broken = "datedAfterDrift" /\ me.st = "idle" /\ me.behind < Behind THEN [me EXCEPT !.behind = @ + 1] ELSE me

\* Redis' clock is set forward, at a time when there is no lease that this could end early.
\* @world
Step ==
    /\ Broken = "datedAfterStep" /\ srv.owner = None /\ srv.q = <<>>
    /\ \A c \in Clients : cl[c].behind = 0
    /\ cl' = [c \in Clients |-> [cl[c] EXCEPT !.behind = Behind]]
    /\ UNCHANGED <<srv, mail, stray, faults>>

\* @world
Tick ==
    \E slow \in {{}} \union {{c} : c \in {d \in Clients : Counts(d) /\ cl[d].slow < Drift}} :
        /\ IF Due \/ slow # {} THEN Fault ELSE NoFault
        /\ srv' = LET s == [srv EXCEPT !.q = [i \in 1..Len(@) |-> [@[i] EXCEPT !.life = Less(@)]]]
                  IN IF Broken = "noLease" THEN s
                     ELSE IF s.ttl = 1 THEN Gone(s) ELSE [s EXCEPT !.ttl = Less(@)]
        /\ cl' = [c \in Clients |->
                    LET m == Drifted(Moved(cl[c], c \in slow)) IN IF Counts(c) THEN m ELSE [m EXCEPT !.slow = 0]]
        /\ stray' = {r \in {[x EXCEPT !.na = Less(@)] : x \in stray} : r.na > 0 \/ Broken = "lateBeat"}
        /\ mail' = IF DatedByServer
                   THEN {[m EXCEPT !.age = IF m.c \in slow \/ @ > Lease THEN @ ELSE @ + 1] : m \in mail} ELSE mail

Init ==
    /\ srv = [owner |-> None, a |-> 0, ttl |-> 0, token |-> 0, last |-> 0, q |-> <<>>, waited |-> FALSE, plus |-> TRUE]
    /\ cl = [c \in Clients |->
                [live |-> TRUE, sub |-> TRUE, st |-> "idle", a |-> 0, stand |-> NoStand, hb |-> 0, left |-> 0,
                 conf |-> FALSE, call |-> NoCall, quiet |-> 0, commands |-> {}, open |-> {}, slow |-> 0, behind |-> 0]]
    /\ mail = {} /\ stray = {} /\ faults = Faults

Steps(c) ==
    \/ Ask(c) \/ StartBeat(c) \/ Serve(c) \/ Receive(c) \/ Confirm(c) \/ Lapse(c)
    \/ \E e \in cl[c].commands : DoCommand(c, e)

Next ==
    \/ Tick \/ Step
    \/ \E r \in stray : RunLate(r)
    \/ \E m \in mail : Deliver(m)
    \/ \E c \in Clients :
        \/ Steps(c) \/ Begin(c) \/ Release(c) \/ GiveUp(c) \/ Unanswered(c) \/ Crash(c) \/ Cut(c) \/ Resubscribe(c)

Symmetry == Permutations(Clients)

Spec == Init /\ [][Next]_vars

\* Time goes on, or somebody who is due acts. That is enough: time waits for all that is due, but for the few faults.
FairSpec == Spec /\ WF_vars(Tick \/ \E c \in Clients : Steps(c))

-----------------------------------------------------------------------------

Honest == \A c \in Clients : cl[c].live /\ Holds(c) => srv.owner = c /\ srv.a = cl[c].a

Exclusion == \A c, d \in Clients : cl[c].live /\ cl[d].live /\ Holds(c) /\ Holds(d) => c = d

\* What a living client has in Redis, the lock or a place, is wanted, or will be taken away.
Wanted(c, a, states) ==
    \/ ~cl[c].live
    \/ cl[c].a = a /\ cl[c].st \in states
    \/ a \in cl[c].open
    \/ \E e \in cl[c].commands : e.a = a
    \/ cl[c].call # NoCall /\ cl[c].call.r.a = a

NoOrphan ==
    /\ srv.owner \in Clients => Wanted(srv.owner, srv.a, {"wait", "held"})
    /\ \A i \in 1..Len(srv.q) : Wanted(srv.q[i].c, srv.q[i].a, {"wait"})

\* What the short forms look at says at least what is there.
Marked == (srv.plus => srv.owner = None /\ ~Crowded(srv)) /\ (srv.owner # None /\ Crowded(srv) => srv.waited)

\* A later hold has a greater token: those of the resource in Fencing rely on it.
Growing == [][srv'.last >= srv.last /\ (srv'.owner # None => srv'.token = srv'.last)]_vars

\* Who is fair gives a free lock to nobody who came later than one that lives and can be told.
InTurn ==
    [][LET w == srv'.owner
           ahead(i) == \E j \in 1..(i - 1) : srv.q[j].c = w /\ srv.q[j].a = srv'.a
           new == w # None /\ <<w, srv'.a>> # <<srv.owner, srv.a>>
       IN Fair /\ new =>
            \A i \in 1..Len(srv.q) :
                srv.q[i].life > 0 /\ cl[srv.q[i].c].sub /\ srv.q[i].c # w => ahead(i)]_vars

\* No live waiter waits for ever, even if others die.
NoLostWakeUp == \A c \in Clients : (cl[c].st = "wait") ~> (cl[c].st # "wait")

=============================================================================
