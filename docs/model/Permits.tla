------------------------------- MODULE Permits -------------------------------
(***************************************************************************)
(* Permits of a pool. A call wants one number or several, and gets them     *)
(* together. The hash of the pool has a record for each attempt that has    *)
(* permits, with a lease of its own. The places of those who wait stand in  *)
(* one line, and nobody is served before a place that came earlier and      *)
(* whose client can be notified. One script serves all places that fit.     *)
(*                                                                         *)
(* Time is a set of countdowns, as in Lease, and everybody is prompt, as in *)
(* Queue, except by a fault. A request runs when it is sent, and its answer *)
(* comes in a second step; by a fault it is not answered, and may run late. *)
(*                                                                         *)
(* Left out: the news of a loss for the next owner, tries that do not wait, *)
(* slow clocks, lost data: they are in the other modules. A claim is as     *)
(* long as a lease. A leave is sent once: what an unanswered one leaves     *)
(* ends by its lease.                                                       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Clients,
    Wants,      \* how many permits a call may want
    Attempts,   \* calls of a client
    Size,       \* of the pool at first
    Sizes,      \* to which the pool may be resized, once
    Lease, Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the size, the last token, the records and the line
    cl,         \* the clients
    mail,       \* messages on their way to a mailbox
    stray,      \* requests that may run, though nobody waits for an answer
    resized,    \* whether the pool was resized
    faults      \* how many are left

vars == <<srv, cl, mail, stray, resized, faults>>

None == "none"
Min(x, y) == IF x < y THEN x ELSE y
Max(x, y) == IF x > y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0
Minus(x, y) == IF x > y THEN x - y ELSE 0

Live(c) == cl[c].live

(***************************************************************************)
(* The scripts. Each gives an answer, a new state and the messages that it  *)
(* publishes.                                                               *)
(***************************************************************************)

Top == CHOOSE n \in Sizes \union {Size} : \A m \in Sizes \union {Size} : m <= n
Numbers == 0..(Top - 1)
Taken(s) == UNION {p.nums : p \in s.recs}
OfAttempt(s, c, a) == {p \in s.recs : p.c = c /\ p.a = a}

\* How many numbers may be given out: permits above a smaller size count too.
Room(s) ==
    LET free == {i \in Numbers : i < s.size /\ i \notin Taken(s)} IN
    IF Broken = "aboveUncounted" THEN Cardinality(free) ELSE Min(Cardinality(free), Minus(s.size, Cardinality(Taken(s))))
\* The smallest free numbers.
Chosen(s, k) ==
    LET free == {i \in Numbers : i < s.size /\ i \notin Taken(s)} IN
    {i \in free : Cardinality({j \in free : j < i}) < k}

Given(s, c, a, k) ==
    LET p == [c |-> c, a |-> a, nums |-> Chosen(s, k), ttl |-> Lease] IN
    [s EXCEPT !.recs = @ \union {p}, !.tok = @ + 1]
Grant(s, p) == [to |-> p.c, a |-> p.a, nums |-> Chosen(s, p.k), tok |-> s.tok + 1]

Off(line, i) == SubSeq(line, 1, i - 1) \o SubSeq(line, i + 1, Len(line))
\* Those that came earlier, live, and want what there may be, are passed by one more.
Passed(line, i) ==
    [j \in 1..Len(line) |-> IF j < i /\ Live(line[j].c) THEN [line[j] EXCEPT !.by = 1] ELSE line[j]]

\* Looks at the places from the i-th on. A script drops places that want more than there are.
RECURSIVE Serve(_, _)
Serve(out, i) ==
    LET s == out.s
        p == s.line[i]
    IN
    IF i > Len(s.line) THEN out
    ELSE IF p.k > s.size /\ Broken # "tooLargeStays" THEN Serve([out EXCEPT !.s.line = Off(@, i)], i)
    ELSE IF p.k > Room(s) THEN IF Broken = "smallOvertake" THEN Serve(out, i + 1) ELSE out
    ELSE IF ~Live(p.c) THEN Serve(out, i + 1)
    ELSE LET given == [Given(s, p.c, p.a, p.k) EXCEPT !.line = Off(Passed(@, i), i)]
             next == [s |-> given, msgs |-> out.msgs \union {Grant(s, p)}]
         IN IF Broken = "servesOne" THEN next ELSE Serve(next, i)

\* From now on nobody has to be served before the next script.
Served(s) == [Serve([s |-> s, msgs |-> {}], 1) EXCEPT !.s.lapsed = FALSE]
Same(s) == [s |-> s, msgs |-> {}]
Out(ans, out) == [ans |-> ans, s |-> out.s, msgs |-> out.msgs, nums |-> {}, last |-> out.s.tok]

\* The request for permits, and the heartbeat of a place. The answer to the asker needs no message.
\* @lua permits_acquire.lua @java PermitScripts#acquire
Ask(s, r) ==
    LET mine == OfAttempt(s, r.c, r.a)
        is(i) == s.line[i].c = r.c /\ s.line[i].a = r.a
        stands == \E i \in 1..Len(s.line) : is(i)
        place == [c |-> r.c, a |-> r.a, k |-> r.k, ttl |-> Lease, by |-> 0]
        lined == IF stands THEN [s EXCEPT !.line = [i \in 1..Len(@) |-> IF is(i) THEN [@[i] EXCEPT !.ttl = Lease] ELSE @[i]]]
                 ELSE [s EXCEPT !.line = Append(@, place)]
        barges == Broken = "barges" /\ ~stands /\ r.k <= Room(s)
        out == IF barges THEN Same([Given(s, r.c, r.a, r.k) EXCEPT !.line = Passed(@, Len(@) + 1)])
               ELSE IF stands /\ Broken = "beatAsksNothing" THEN Same(lined) ELSE Served(lined)
        got == OfAttempt(out.s, r.c, r.a)
        nums(set) == UNION {p.nums : p \in set}
    IN
    IF mine # {}
    THEN [Out("OK", Same([s EXCEPT !.recs = (@ \ mine) \union {[p EXCEPT !.ttl = Lease] : p \in mine}])) EXCEPT !.nums = nums(mine)]
    ELSE IF r.k > s.size /\ Broken # "tooLargeStays" THEN Out("SIZE", Same(s))
    ELSE IF got # {} THEN [Out("OK", [out EXCEPT !.msgs = {m \in @ : ~(m.to = r.c /\ m.a = r.a)}]) EXCEPT !.nums = nums(got)]
    ELSE Out("QUEUED", out)

\* @lua permits_renew.lua @java PermitScripts#renew
Renewed(s, r) ==
    LET mine == IF Broken = "oneLease" /\ OfAttempt(s, r.c, r.a) # {} THEN s.recs ELSE OfAttempt(s, r.c, r.a) IN
    Out(IF mine = {} THEN "GONE" ELSE "OK",
        Same([s EXCEPT !.recs = (@ \ mine) \union {[p EXCEPT !.ttl = Lease] : p \in mine}]))

\* @lua permits_release.lua @java PermitScripts#release
Released(s, r) ==
    LET mine == IF Broken = "byOwner" THEN {p \in s.recs : p.c = r.c} ELSE OfAttempt(s, r.c, r.a)
        left == [s EXCEPT !.recs = @ \ mine]
    IN Out("DONE", IF mine = {} \/ Broken = "releaseSilent" THEN Same(left) ELSE Served(left))

\* @lua permits_leave.lua @java PermitScripts#leave
Left(s, r) ==
    LET left == [s EXCEPT !.recs = @ \ OfAttempt(s, r.c, r.a), !.line = SelectSeq(@, LAMBDA p : ~(p.c = r.c /\ p.a = r.a))]
    IN Out("DONE", IF Broken = "leaveSilent" THEN Same(left) ELSE Served(left))

Run(s, r) ==
    CASE r.op = "ask" -> Ask(s, r)
      [] r.op = "renew" -> Renewed(s, r)
      [] r.op = "end" -> Released(s, r)
      [] r.op = "leave" -> Left(s, r)

Request(op, c) == [op |-> op, c |-> c, a |-> cl[c].n, k |-> cl[c].k, na |-> Lease]

(***************************************************************************)
(* The clients. A client has one call after the other; in the library each  *)
(* is an owner of its own, and so are those that run together.              *)
(***************************************************************************)

NoCall == [op |-> None, age |-> 0, ans |-> None, nums |-> {}, last |-> 0]
NoPlace == [age |-> Lease, last |-> 0]
Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults
Valid(c) == Live(c) /\ cl[c].st = "valid"
Waits(me) == me.st \in {"asks", "line"}

\* A request is sent and has run, and the answer is to come; or nobody answers it, and it runs late or never.
Send(r, me) ==
    \/ LET out == Run(srv, r) IN
       /\ srv' = out.s /\ mail' = mail \union out.msgs /\ UNCHANGED stray /\ NoFault
       /\ cl' = [cl EXCEPT ![r.c] = [me EXCEPT !.call =
            [op |-> r.op, age |-> 0, ans |-> out.ans, nums |-> out.nums, last |-> out.last]]]
    \/ /\ Fault /\ stray' = stray \union {r} /\ UNCHANGED <<srv, mail>>
       /\ cl' = [cl EXCEPT ![r.c] = [me EXCEPT !.call = [NoCall EXCEPT !.op = r.op, !.ans = "unanswered"]]]
\* The same without an answer that anybody waits for.
Tell(r, me) ==
    /\ cl' = [cl EXCEPT ![r.c] = me]
    /\ \/ LET out == Run(srv, r) IN srv' = out.s /\ mail' = mail \union out.msgs /\ UNCHANGED stray /\ NoFault
       \/ Fault /\ stray' = stray \union {r} /\ UNCHANGED <<srv, mail>>

Idle(me) == [me EXCEPT !.st = None, !.left = 0, !.nums = {}, !.pos = NoPlace, !.call = NoCall]
Got(me, left, nums) ==
    IF left = 0 THEN [me EXCEPT !.st = "asks", !.hb = 0, !.pos = NoPlace]
    ELSE [me EXCEPT !.st = "valid", !.left = left, !.nums = nums]

\* @lua permits_acquire.lua @java Attempts#begin
Begin(c) ==
    /\ Live(c) /\ cl[c].st = None /\ cl[c].n < Attempts
    /\ \E k \in Wants :
        Send([Request("ask", c) EXCEPT !.a = @ + 1, !.k = k], [cl[c] EXCEPT !.st = "asks", !.n = @ + 1, !.k = k, !.hb = 1])
    /\ UNCHANGED resized

MayBeat(c) == Live(c) /\ Waits(cl[c]) /\ cl[c].call = NoCall /\ cl[c].hb = 0
\* @lua permits_acquire.lua @java Heartbeats.Heartbeat#call
Beat(c) == MayBeat(c) /\ Send(Request("ask", c), [cl[c] EXCEPT !.hb = 1]) /\ UNCHANGED resized

MayRenew(c) == Valid(c) /\ cl[c].left \in 1..(Lease - 1) /\ cl[c].call = NoCall
\* @lua permits_renew.lua @java Renewals#inspect
Renew(c) == MayRenew(c) /\ Send(Request("renew", c), cl[c]) /\ UNCHANGED resized

MayReceive(c) == Live(c) /\ cl[c].call # NoCall
\* @lua - @java Heartbeats.Heartbeat#answered
Receive(c) ==
    LET call == cl[c].call
        me == [cl[c] EXCEPT !.call = NoCall]
        left == Minus(Lease, call.age)
    IN
    /\ MayReceive(c)
    /\ cl' = [cl EXCEPT ![c] =
        CASE call.op = "ask" /\ Waits(me) ->
                IF call.ans = "OK" THEN Got(me, left, call.nums)
                ELSE IF call.ans = "QUEUED" THEN [me EXCEPT !.st = "line", !.pos = [age |-> call.age, last |-> call.last]]
                ELSE IF call.ans = "SIZE" THEN [Idle(me) EXCEPT !.st = "refused"] ELSE [me EXCEPT !.hb = 0]
          [] call.op = "renew" /\ me.st = "valid" ->
                IF call.ans = "GONE" THEN Idle(me)
                ELSE IF call.ans = "OK" /\ me.left > 0 /\ left > me.left THEN [me EXCEPT !.left = left] ELSE me
          [] OTHER -> me]
    /\ UNCHANGED <<srv, mail, stray, resized, faults>>

\* A grant by message is dated by the sending of the request that gave the place, if its token is greater than the last
\* one that Redis knew then. Else the grant may be an earlier one, of a place that has lapsed since.
\* @lua permits.lua @java Settlements.Settlement#settle
Deliver(m) ==
    LET me == cl[m.to]
        later == m.tok > me.pos.last \/ Broken = "tokenIgnored"
        left == IF Broken = "datedByReceipt" THEN Lease ELSE IF later THEN Minus(Lease, me.pos.age) ELSE 0
    IN
    /\ mail' = mail \ {m}
    /\ cl' = [cl EXCEPT ![m.to] = IF me.live /\ Waits(me) /\ me.n = m.a THEN Got(me, left, m.nums) ELSE me]
    /\ UNCHANGED <<srv, stray, resized, faults>>

\* Permits whose deadline has passed are lost.
MayLapse(c) == Valid(c) /\ cl[c].left = 0
\* @lua - @java Losses#isValid
Lapse(c) == MayLapse(c) /\ cl' = [cl EXCEPT ![c] = Idle(@)] /\ UNCHANGED <<srv, mail, stray, resized, faults>>

\* @lua permits_release.lua @java Exits#release
End(c) == Valid(c) /\ Tell(Request("end", c), Idle(cl[c])) /\ UNCHANGED resized
\* @lua permits_leave.lua @java Acquisitions.OfLock#next
Leave(c) == Live(c) /\ cl[c].st \in {"line", "refused"} /\ Tell(Request("leave", c), Idle(cl[c])) /\ UNCHANGED resized
MustLeave(c) == Live(c) /\ cl[c].st = "refused"
\* @lua permits_leave.lua @java Acquisitions.OfLock#next
LeaveNow(c) == MustLeave(c) /\ Leave(c)

\* @lua permits_resize.lua @java PermitScripts#resize
Resize ==
    /\ ~resized /\ resized' = TRUE
    /\ \E size \in Sizes :
        LET sized == [srv EXCEPT !.size = size]
            out == IF Broken = "resizeSilent" THEN Same(sized) ELSE Served(sized)
        IN srv' = out.s /\ mail' = mail \union out.msgs
    /\ UNCHANGED <<cl, stray, faults>>

\* @world
Lose(m) == Fault /\ mail' = mail \ {m} /\ UNCHANGED <<srv, cl, stray, resized>>
\* @world
RunLate(r) ==
    LET out == Run(srv, r) IN
    /\ stray' = stray \ {r} /\ srv' = out.s /\ mail' = mail \union out.msgs
    /\ cl' = [cl EXCEPT ![r.c].dying = IF Live(r.c) THEN @ ELSE Lease] /\ UNCHANGED <<resized, faults>>
\* @world
Crash(c) ==
    /\ Live(c) /\ Fault
    /\ cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.live = FALSE, !.dying = Lease]]
    /\ UNCHANGED <<srv, mail, stray, resized>>

Due ==
    \/ mail # {}
    \/ \E c \in Clients : MayBeat(c) \/ (MayRenew(c) /\ cl[c].left = 1) \/ MayReceive(c) \/ MayLapse(c) \/ MustLeave(c)

\* Leases end, of permits and of places. Nobody is told.
\* @world
Tick ==
    LET ends == (\E p \in srv.recs : p.ttl = 1) \/ (\E i \in 1..Len(srv.line) : srv.line[i].ttl = 1) IN
    /\ IF Due THEN Fault ELSE NoFault
    /\ srv' = [srv EXCEPT !.recs = {[p EXCEPT !.ttl = @ - 1] : p \in {q \in @ : q.ttl > 1}},
                          !.line = LET lasting == SelectSeq(@, LAMBDA p : p.ttl > 1) IN
                                   [i \in 1..Len(lasting) |-> [lasting[i] EXCEPT !.ttl = @ - 1]],
                          !.lapsed = @ \/ ends]
    /\ cl' = [c \in Clients |->
                [cl[c] EXCEPT !.dying = Less(@), !.left = Less(@), !.hb = Less(@), !.pos.age = Min(Lease, @ + 1),
                              !.call = IF @ = NoCall THEN @ ELSE [@ EXCEPT !.age = Min(Lease, @ + 1)]]]
    /\ stray' = {r \in {[x EXCEPT !.na = IF x.op = "ask" THEN Less(@) ELSE @] : x \in stray} : r.na > 0}
    /\ UNCHANGED <<mail, resized>>

Init ==
    /\ srv = [size |-> Size, tok |-> 0, recs |-> {}, line |-> <<>>, lapsed |-> FALSE]
    /\ cl = [c \in Clients |->
                [live |-> TRUE, dying |-> 0, st |-> None, n |-> 0, k |-> 0, left |-> 0, nums |-> {}, hb |-> 0, pos |-> NoPlace,
                 call |-> NoCall]]
    /\ mail = {} /\ stray = {} /\ resized = FALSE /\ faults = Faults

Steps(c) == Beat(c) \/ Receive(c) \/ Lapse(c) \/ LeaveNow(c) \/ (cl[c].left = 1 /\ Renew(c))

Next ==
    \/ Tick \/ Resize
    \/ \E m \in mail : Deliver(m) \/ Lose(m)
    \/ \E r \in stray : RunLate(r)
    \/ \E c \in Clients : Steps(c) \/ Begin(c) \/ Renew(c) \/ End(c) \/ Leave(c) \/ Crash(c)

Spec == Init /\ [][Next]_vars

\* Time goes on, or somebody who is due acts; and permits are released.
FairSpec ==
    /\ Spec
    /\ WF_vars(Tick \/ (\E m \in mail : Deliver(m)) \/ \E c \in Clients : Steps(c))
    /\ WF_vars(\E c \in Clients : End(c))

-----------------------------------------------------------------------------

Holds(c) == Valid(c) /\ cl[c].left > 0

\* Who has permits has them in Redis, by this attempt and with these numbers.
Honest == \A c \in Clients : Holds(c) => \E p \in OfAttempt(srv, c, cl[c].n) : p.nums = cl[c].nums

\* No number has two owners.
Exclusion ==
    /\ \A c, d \in Clients : c # d /\ Holds(c) /\ Holds(d) => cl[c].nums \cap cl[d].nums = {}
    /\ \A p, q \in srv.recs : p # q => p.nums \cap q.nums = {}

\* No more permits are out than there are, except those that were out before a resize.
AtMost == [][Cardinality(Taken(srv')) <= Max(srv'.size, Cardinality(Taken(srv)))]_vars

\* A call gets what it wants, or nothing.
All == \A p \in srv.recs : p.a = cl[p.c].n => Cardinality(p.nums) = cl[p.c].k

\* Nobody who came later is served before a place whose client lives.
InOrder == \A i \in 1..Len(srv.line) : Live(srv.line[i].c) => srv.line[i].by = 0

\* Until a lease ends, no place is first in line while what it wants is free.
NoneLeft == srv.lapsed \/ srv.line = <<>> \/ ~Live(srv.line[1].c) \/ srv.line[1].k > Room(srv)

\* The permits of a client that died are free a lease later, whoever renews others.
DeadByLease == \A c \in Clients : ~Live(c) /\ cl[c].dying = 0 => \A p \in srv.recs : p.c # c

\* No live waiter waits for ever, even if others die.
NoLostWakeUp == \A c \in Clients : Waits(cl[c]) ~> ~Waits(cl[c])

Symmetry == Permutations(Clients)

=============================================================================
