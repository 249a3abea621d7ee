------------------------------ MODULE ReadWrite ------------------------------
(***************************************************************************)
(* A read-write lock. All readers of a client share one share, which is a   *)
(* field of the lock's hash and has a lease of its own; the hash of a read  *)
(* phase has no writer. A writer that waits recalls the shares; after a     *)
(* writer all shares that wait go in together, after the last share the     *)
(* first writer does.                                                       *)
(*                                                                         *)
(* Time is a set of countdowns, as in Lease, and everybody is prompt, as in *)
(* Queue, except by a fault. A request runs when it is sent, and its answer *)
(* comes in a second step; by a fault it is not answered, and may run late. *)
(*                                                                         *)
(* Left out: tokens and marks, re-entry of a writer, renewals of a write    *)
(* hold, local queues, slow clocks, Conditions, residences: they are in the *)
(* other modules. A client has one writer, who waits in a thread of its     *)
(* own. Leaves are sent once: what an unanswered one leaves ends by its     *)
(* lease.                                                                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Clients,
    Readers, Writers,   \* those of the clients that read, and that write
    Keep,       \* those that keep the share after their last reader, until it is recalled
    Attempts,   \* shares that a reader asks for
    Writes,     \* attempts of a writer
    Reads,      \* threads of a client that read, one after the other or together
    Downgrades, \* whether writers may become readers
    Leaves,     \* whether a share that waits may be given up
    Lease, Faults,
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    srv,        \* Redis: the writer or the shares, each with its time to live, and the places of both kinds
    cl,         \* the clients
    mail,       \* messages on their way to a mailbox
    stray,      \* requests that may run, though nobody waits for an answer
    pushed,     \* whether a thread began to read past a writer that waited
    faults      \* how many are left

vars == <<srv, cl, mail, stray, pushed, faults>>

None == "none"
Min(x, y) == IF x < y THEN x ELSE y
Less(x) == IF x > 0 THEN x - 1 ELSE 0
Minus(x, y) == IF x > y THEN x - y ELSE 0

(***************************************************************************)
(* The scripts. Each gives an answer, a new state and the messages it       *)
(* publishes. A place of a writer stands in line, one of a share in rl. The *)
(* age of a place is the time since the sending of the last request for it, *)
(* which a message about the place brings back to the client.               *)
(***************************************************************************)

Live(c) == cl[c].live
NoShare == [a |-> 0, ttl |-> 0]
Has(s, c) == s.sh[c].ttl > 0
HasBy(s, c, a) == Has(s, c) /\ s.sh[c].a = a
Sharers(s) == {c \in Clients : Has(s, c)}
IsWriter(s, c, a) == s.w = c /\ s.wa = a
Free(s) == s.w = None /\ Sharers(s) = {}
Crowded(s) == s.line # <<>>

Recall(c, s) == [op |-> "recall", to |-> c, a |-> s.sh[c].a, age |-> 0, rec |-> TRUE]
Recalls(s) == {Recall(c, s) : c \in Sharers(s)}
Same(s) == [s |-> s, msgs |-> {}]

\* An answer says whether a writer waits: the share may have been granted with others while one waited.
Out(ans, out) == [ans |-> ans, s |-> out.s, msgs |-> out.msgs, rec |-> Crowded(out.s) /\ Broken # "replyUnflagged"]

\* What the promises look at: how many shares each client got while a writer was in line.
Counted(s, new) == [s EXCEPT !.line = [i \in 1..Len(@) |-> [@[i] EXCEPT !.by = [c \in Clients |-> @[c] + IF c \in new THEN 1 ELSE 0]]]]

\* All shares that wait and whose clients can be notified.
Heard(s) == {p \in s.rl : Live(p.c) \/ Broken = "deafLetIn"}
LetIn(s) ==
    LET new == Heard(s)
        of(c) == CHOOSE p \in new : p.c = c
        got == {p.c : p \in new}
        t == Counted(s, got)
    IN [s |-> [t EXCEPT !.rl = @ \ new, !.last = IF new = {} THEN @ ELSE "r",
                        !.sh = [c \in Clients |-> IF c \in got THEN [a |-> of(c).a, ttl |-> Lease] ELSE @[c]]],
        msgs |-> {[op |-> p.kind, to |-> p.c, a |-> p.a, age |-> p.age,
                   rec |-> Crowded(s) /\ Broken # "batchUnflagged"] : p \in new}]

\* The first writer that can be notified.
First(s) == {i \in 1..Len(s.line) : Live(s.line[i].c) /\ \A j \in 1..(i - 1) : ~Live(s.line[j].c)}
Without(s, c, a) == [s EXCEPT !.line = SelectSeq(@, LAMBDA p : ~(p.c = c /\ p.a = a))]
Turn(s, i) ==
    LET p == s.line[i] IN
    [s |-> [Without(s, p.c, p.a) EXCEPT !.w = p.c, !.wa = p.a, !.wttl = Lease, !.last = "w",
                                        !.rl = {[q EXCEPT !.by = Min(3, @ + 1)] : q \in @}],
     msgs |-> {[op |-> "write", to |-> p.c, a |-> p.a, age |-> p.age, rec |-> FALSE]}]

AfterReaders(s) == IF First(s) = {} THEN LetIn(s) ELSE Turn(s, CHOOSE i \in First(s) : TRUE)
AfterWriter(s) == IF Heard(s) # {} /\ Broken # "writersFirst" THEN LetIn(s) ELSE AfterReaders(s)
\* What a script does in the end. If nobody has the lock after a writer, that writer was lost.
Settle(s) ==
    IF Free(s) THEN IF s.last = "w" /\ Broken # "lapseForgotten" THEN AfterWriter(s) ELSE AfterReaders(s)
    ELSE IF ~Crowded(s) /\ (s.w = None \/ Broken = "leaveLetsIn") THEN LetIn(s)
    ELSE Same(s)

OfShare(s, c) == {p \in s.rl : p.c = c}
Dropped(s, c, a) == [s EXCEPT !.rl = {p \in @ : ~(p.c = c /\ p.a = a)}, !.sh[c] = IF @.a = a THEN NoShare ELSE @]
Share(s, c, a) == [Counted(s, {c}) EXCEPT !.sh[c] = [a |-> a, ttl |-> Lease], !.last = "r", !.rl = @ \ OfShare(s, c)]
\* The sooner of the two requests counts: an older time of sending is an earlier deadline. The place sees at most one
\* writer, if a read phase goes on when it comes, and no other than the holder if there is one.
Place(s, r) ==
    LET old == {p \in OfShare(s, r.c) : p.a = r.a} IN
    [s EXCEPT !.rl = (@ \ OfShare(s, r.c)) \union
        {IF old # {} THEN [(CHOOSE p \in old : TRUE) EXCEPT !.age = Lease - r.na]
         ELSE [kind |-> "read", c |-> r.c, a |-> r.a, age |-> Lease - r.na, by |-> 0, may |-> IF s.w = None THEN 1 ELSE 0]}]

\* The request for a share, and the heartbeat of one that waits. What an earlier attempt of the client left is dropped; a
\* late request of an earlier attempt changes nothing.
\* @lua share.lua @java ShareScripts#share
AskShare(s, r) ==
    LET later == (Has(s, r.c) /\ s.sh[r.c].a > r.a) \/ \E p \in OfShare(s, r.c) : p.a > r.a
        t == IF Has(s, r.c) /\ s.sh[r.c].a < r.a THEN Dropped(s, r.c, s.sh[r.c].a) ELSE s
        settled == Settle(Place(t, r))
    IN
    IF HasBy(s, r.c, r.a) THEN Out("OK", Same([s EXCEPT !.sh[r.c].ttl = Lease]))
    ELSE IF later /\ Broken # "lateShare" THEN Out("STALE", Same(s))
    ELSE IF r.op = "beat" /\ Broken = "beatAsksNothing" THEN Out("QUEUED", Same(Place(s, r)))
    ELSE IF t.w = None /\ (~Crowded(t) \/ Broken = "readersBarge") THEN Out("OK", Same(Share(t, r.c, r.a)))
    ELSE Out(IF HasBy(settled.s, r.c, r.a) THEN "OK" ELSE "QUEUED", settled)

\* @lua renew_shares.lua @java ShareScripts#renew
RenewShare(s, r) ==
    IF ~HasBy(s, r.c, r.a) THEN Out("GONE", Same(s))
    ELSE Out("OK", [s |-> IF Broken = "oneLease"
                          THEN [s EXCEPT !.sh = [c \in Clients |-> IF Has(s, c) THEN [@[c] EXCEPT !.ttl = Lease] ELSE @[c]]]
                          ELSE [s EXCEPT !.sh[r.c].ttl = Lease],
                    msgs |-> IF Crowded(s) /\ Broken # "beatSilent" THEN {Recall(r.c, s)} ELSE {}])

\* The end of a share, and the leave of one that waits.
\* @lua unshare.lua @java ShareScripts#unshare
Unshare(s, r) ==
    LET a == IF Broken = "byClient" THEN s.sh[r.c].a ELSE r.a
        heir == IF r.next = 0 THEN {} ELSE {[p EXCEPT !.kind = "write", !.a = r.next] : p \in OfShare(s, r.c)}
        left == Dropped(Dropped(s, r.c, a), r.c, r.a)
    IN Out("DONE", Settle([left EXCEPT !.rl = @ \union heir]))

\* The request of a writer, and its heartbeat; both recall all shares.
\* @lua acquire.lua @java Scripts#acquire
AskWrite(s, r) ==
    LET is(i) == s.line[i].c = r.c /\ s.line[i].a = r.a
        stands == \E i \in 1..Len(s.line) : is(i)
        place == [c |-> r.c, a |-> r.a, age |-> Lease - r.na, by |-> [c \in Clients |-> 0],
                  may |-> Len(s.line) + IF s.last = "w" THEN 1 ELSE 0]
        t == IF stands THEN [s EXCEPT !.line = [i \in 1..Len(@) |-> IF is(i) THEN [@[i] EXCEPT !.age = Lease - r.na] ELSE @[i]]]
             ELSE [s EXCEPT !.line = Append(@, place)]
        settled == Settle(t)
        recalls == IF r.op = "beatWrite" /\ Broken = "beatSilent" THEN {} ELSE Recalls(settled.s)
    IN
    IF IsWriter(s, r.c, r.a) THEN Out("OK", Same([s EXCEPT !.wttl = Lease]))
    ELSE IF IsWriter(settled.s, r.c, r.a)
         THEN Out("OK", [settled EXCEPT !.msgs = {m \in @ : m.op # "write"}])
    ELSE Out("QUEUED", [settled EXCEPT !.msgs = @ \union recalls])

\* The end of a write hold, and the leave of a writer that waits.
\* @lua release.lua @java Scripts#release
EndWrite(s, r) ==
    LET left == Without(s, r.c, r.a) IN
    Out("DONE", IF IsWriter(s, r.c, r.a) THEN AfterWriter([left EXCEPT !.w = None, !.wa = 0, !.wttl = 0]) ELSE Settle(left))

\* In one script the write hold becomes a share, and all shares that wait go in.
\* @lua downgrade.lua @java ShareScripts#downgrade
Downgraded(s, c, wa, a) ==
    IF IsWriter(s, c, wa) THEN Out("OK", LetIn(Share([s EXCEPT !.w = None, !.wa = 0, !.wttl = 0], c, a)))
    ELSE Out("GONE", Same(s))

Run(s, r) ==
    CASE r.op \in {"ask", "beat"} -> AskShare(s, r)
      [] r.op \in {"askWrite", "beatWrite"} -> AskWrite(s, r)
      [] r.op = "renew" -> RenewShare(s, r)
      [] r.op = "end" -> Unshare(s, r)
      [] r.op = "endWrite" -> EndWrite(s, r)

Dated(op) == op \notin {"end", "endWrite"}
Request(op, c, a) == [op |-> op, c |-> c, a |-> a, next |-> 0, na |-> Lease]

(***************************************************************************)
(* The client. A share is closed when it is recalled: nobody else goes in,  *)
(* and the last thread that leaves ends it. Threads that read in are inside *)
(* it; again is 1 while one of them wants to read once more.                *)
(***************************************************************************)

NoCall == [op |-> None, age |-> 0, ans |-> None, rec |-> FALSE]
Fault == faults > 0 /\ faults' = faults - 1
NoFault == UNCHANGED faults
More(c) == cl[c].reads < Reads
Valid(c) == Live(c) /\ cl[c].st = "valid"
Waits(me) == me.st \in {"asks", "line"}
WaitsToWrite(me) == me.wst \in {"asks", "line"}

\* A request is sent and has run, and the answer is to come; or nobody answers it, and it runs late or never.
Send(call, r, me) ==
    \/ LET out == Run(srv, r) IN
       /\ srv' = out.s /\ mail' = mail \union out.msgs /\ UNCHANGED stray /\ NoFault
       /\ cl' = [cl EXCEPT ![r.c] = [me EXCEPT ![call] = [op |-> r.op, age |-> 0, ans |-> out.ans, rec |-> out.rec]]]
    \/ /\ Fault /\ stray' = stray \union {r} /\ UNCHANGED <<srv, mail>>
       /\ cl' = [cl EXCEPT ![r.c] = [me EXCEPT ![call] = [NoCall EXCEPT !.op = r.op, !.ans = "unanswered"]]]
\* The same without an answer that anybody waits for.
Tell(r, me) ==
    /\ cl' = [cl EXCEPT ![r.c] = me]
    /\ \/ LET out == Run(srv, r) IN srv' = out.s /\ mail' = mail \union out.msgs /\ UNCHANGED stray /\ NoFault
       \/ Fault /\ stray' = stray \union {r} /\ UNCHANGED <<srv, mail>>

Idle(me) == [me EXCEPT !.st = None, !.left = 0, !.closed = FALSE, !.in = 0, !.again = 0]
\* The thread that asked goes in, even into a share that is closed, since it waited before.
Got(me, left, closed) ==
    IF left = 0 THEN Idle(me)
    ELSE [me EXCEPT !.st = "valid", !.left = left, !.closed = @ \/ closed, !.in = IF me.reads < Reads THEN 1 ELSE 0,
                    !.reads = Min(Reads, @ + 1), !.again = 0]

\* @lua share.lua @java Attempts#begin
Begin(c) ==
    /\ Live(c) /\ c \in Readers /\ cl[c].st = None /\ cl[c].call = NoCall /\ More(c) /\ cl[c].n < Attempts
    /\ Send("call", Request("ask", c, cl[c].n + 1), [cl[c] EXCEPT !.st = "asks", !.n = @ + 1, !.closed = FALSE])
    /\ UNCHANGED pushed

MayBeat(c) == Live(c) /\ Waits(cl[c]) /\ cl[c].call = NoCall /\ cl[c].hb = 0
\* @lua share.lua @java Heartbeats.Heartbeat#call
Beat(c) ==
    /\ MayBeat(c) /\ Send("call", Request(IF cl[c].st = "line" THEN "beat" ELSE "ask", c, cl[c].n), cl[c])
    /\ UNCHANGED pushed

MayRenew(c) == Valid(c) /\ cl[c].left \in 1..(Lease - 1) /\ cl[c].call = NoCall /\ (cl[c].in > 0 \/ c \in Keep)
MustRenew(c) == MayRenew(c) /\ cl[c].left = 1 /\ (cl[c].in > 0 \/ ~cl[c].closed)
\* @lua renew_shares.lua @java Renewals#inspect
Renew(c) == MayRenew(c) /\ Send("call", Request("renew", c, cl[c].n), cl[c]) /\ UNCHANGED pushed

\* @lua renew_shares.lua @java Renewals#inspect
RenewNow(c) == MustRenew(c) /\ Renew(c)

MayReceive(c) == Live(c) /\ cl[c].call # NoCall
\* @lua renew_shares.lua @java Renewal#answered
Receive(c) ==
    LET call == cl[c].call
        me == [cl[c] EXCEPT !.call = NoCall]
        left == IF Broken = "datedByReceiptOfAll" THEN Lease ELSE Minus(Lease, call.age)
    IN
    /\ MayReceive(c)
    /\ cl' = [cl EXCEPT ![c] =
        CASE call.op # "renew" /\ Waits(me) ->
                IF call.ans = "OK" THEN Got(me, left, call.rec)
                ELSE IF call.ans = "QUEUED" THEN [me EXCEPT !.st = "line", !.hb = 1] ELSE [me EXCEPT !.hb = 0]
          [] call.op = "renew" /\ me.st = "valid" ->
                IF call.ans = "GONE" THEN Idle(me)
                ELSE IF call.ans = "OK" /\ me.left > 0 /\ left > me.left THEN [me EXCEPT !.left = left] ELSE me
          [] OTHER -> me]
    /\ UNCHANGED <<srv, mail, stray, pushed, faults>>

\* A share whose deadline has passed is lost, with all that read under it.
MayLapse(c) == Valid(c) /\ cl[c].left = 0
\* @lua - @java Losses#isValid
Lapse(c) == MayLapse(c) /\ cl' = [cl EXCEPT ![c] = Idle(@)] /\ UNCHANGED <<srv, mail, stray, pushed, faults>>

\* Another thread reads, without a request.
\* @lua - @java ShareLock#enterHere
Enter(c) ==
    LET told == \E m \in mail : m.to = c /\ m.op = "recall" IN
    /\ Valid(c) /\ cl[c].left > 0 /\ More(c) /\ cl[c].in < 2 /\ (~cl[c].closed \/ Broken = "entersClosed")
    /\ cl' = [cl EXCEPT ![c].in = @ + 1, ![c].reads = @ + 1]
    /\ pushed' = (pushed \/ (Crowded(srv) /\ ~told /\ faults = Faults))
    /\ UNCHANGED <<srv, mail, stray, faults>>
\* A thread that reads wants to read once more, inside.
\* @lua - @java ShareLock#enterHere
WantAgain(c) ==
    /\ Valid(c) /\ cl[c].in > 0 /\ cl[c].again = 0
    /\ cl' = [cl EXCEPT ![c].again = 1] /\ UNCHANGED <<srv, mail, stray, pushed, faults>>
\* @lua - @java ShareLock#enterHere
Again(c) ==
    /\ Valid(c) /\ cl[c].in > 0 /\ cl[c].again = 1 /\ (Broken = "reentryWaits" => ~cl[c].closed)
    /\ cl' = [cl EXCEPT ![c].again = 2] /\ UNCHANGED <<srv, mail, stray, pushed, faults>>
\* @lua - @java ShareLock#unlock
Exit(c) ==
    /\ Valid(c) /\ cl[c].in > 0 /\ (cl[c].in = 1 => cl[c].again # 1)
    /\ cl' = [cl EXCEPT ![c].in = @ - 1, ![c].again = IF cl[c].in = 1 THEN 0 ELSE @]
    /\ UNCHANGED <<srv, mail, stray, pushed, faults>>

\* No thread reads, and the share is closed, or the client keeps none.
MayEnd(c) == Valid(c) /\ (cl[c].in = 0 \/ (Broken = "endsHeldShare" /\ cl[c].closed))
MustEnd(c) == Valid(c) /\ cl[c].in = 0 /\ (cl[c].closed \/ c \notin Keep)
\* @lua unshare.lua @java Exits#release
End(c) ==
    /\ MayEnd(c)
    /\ Tell(Request("end", c, cl[c].n),
            IF Broken = "endsHeldShare" THEN [cl[c] EXCEPT !.closed = FALSE] ELSE [Idle(cl[c]) EXCEPT !.call = NoCall])
    /\ UNCHANGED pushed

\* @lua unshare.lua @java Exits#release
EndNow(c) == MustEnd(c) /\ End(c)

\* The readers that wait give up. The place goes to nobody: a writer of the same client is of another kind.
\* @lua unshare.lua @java Acquisitions.OfLock#next
GiveUp(c) ==
    /\ Leaves /\ Live(c) /\ cl[c].st = "line" /\ cl[c].call = NoCall
    /\ Tell([Request("end", c, cl[c].n) EXCEPT
                !.next = IF Broken = "placeInherited" /\ cl[c].wst = "line" THEN cl[c].wn ELSE 0], Idle(cl[c]))
    /\ UNCHANGED pushed

\* A client that writes closes its own share first.
\* @lua acquire.lua @java Attempts#begin
BeginWrite(c) ==
    /\ Live(c) /\ c \in Writers /\ cl[c].wst = None /\ cl[c].wcall = NoCall /\ cl[c].wn < Writes
    /\ Send("wcall", Request("askWrite", c, cl[c].wn + 1),
            [cl[c] EXCEPT !.wst = "asks", !.wn = @ + 1, !.closed = cl[c].st = "valid" \/ @])
    /\ UNCHANGED pushed

MayBeatWrite(c) == Live(c) /\ WaitsToWrite(cl[c]) /\ cl[c].wcall = NoCall /\ cl[c].whb = 0
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#call
BeatWrite(c) ==
    /\ MayBeatWrite(c)
    /\ Send("wcall", Request(IF cl[c].wst = "line" THEN "beatWrite" ELSE "askWrite", c, cl[c].wn), cl[c])
    /\ UNCHANGED pushed

Wrote(me, left) == IF left = 0 THEN [me EXCEPT !.wst = None] ELSE [me EXCEPT !.wst = "valid", !.wleft = left]
MayReceiveWrite(c) == Live(c) /\ cl[c].wcall # NoCall
\* @lua heartbeat.lua @java Heartbeats.Heartbeat#answered
ReceiveWrite(c) ==
    LET call == cl[c].wcall
        me == [cl[c] EXCEPT !.wcall = NoCall]
    IN
    /\ MayReceiveWrite(c)
    /\ cl' = [cl EXCEPT ![c] =
        IF ~WaitsToWrite(me) THEN me
        ELSE IF call.ans = "OK" THEN Wrote(me, Minus(Lease, call.age))
        ELSE IF call.ans = "QUEUED" THEN [me EXCEPT !.wst = "line", !.whb = 1] ELSE [me EXCEPT !.whb = 0]]
    /\ UNCHANGED <<srv, mail, stray, pushed, faults>>

Ends(c, state) ==
    /\ Live(c) /\ cl[c].wst = state /\ cl[c].wcall = NoCall
    /\ Tell(Request("endWrite", c, cl[c].wn), [cl[c] EXCEPT !.wst = None, !.wleft = 0])
    /\ UNCHANGED pushed
\* @lua release.lua @java Exits#release
Unlock(c) == Ends(c, "valid")
\* @lua leave.lua @java Acquisitions.OfLock#next
Leave(c) == Ends(c, "line")
MayLapseWrite(c) == Live(c) /\ cl[c].wst = "valid" /\ cl[c].wleft = 0
\* @lua - @java Losses#isValid
LapseWrite(c) ==
    MayLapseWrite(c) /\ cl' = [cl EXCEPT ![c].wst = None] /\ UNCHANGED <<srv, mail, stray, pushed, faults>>

\* @lua downgrade.lua @java Exits#release
Downgrade(c) ==
    /\ Downgrades /\ Live(c) /\ cl[c].wst = "valid" /\ cl[c].wleft > 0
    /\ cl[c].st = None /\ cl[c].call = NoCall /\ cl[c].n < Attempts /\ More(c)
    /\ LET out == Downgraded(srv, c, cl[c].wn, cl[c].n + 1)
           me == [cl[c] EXCEPT !.wst = None, !.wleft = 0, !.n = @ + 1]
       IN /\ srv' = out.s /\ mail' = mail \union out.msgs
          /\ cl' = [cl EXCEPT ![c] = IF out.ans = "OK" THEN Got(me, Lease, out.rec) ELSE me]
    /\ UNCHANGED <<stray, pushed, faults>>

\* A grant is dated by the time of sending that the message brings back.
\* @lua line.lua @java Mailbox#deliver
Deliver(m) ==
    LET me == cl[m.to]
        left == IF Broken = "grantByReceipt" THEN Lease ELSE Minus(Lease, m.age)
    IN
    /\ mail' = mail \ {m}
    /\ cl' = [cl EXCEPT ![m.to] =
        CASE ~me.live -> me
          [] m.op = "recall" -> IF me.n = m.a /\ me.st # None THEN [me EXCEPT !.closed = TRUE] ELSE me
          [] m.op = "read" -> IF Waits(me) /\ me.n = m.a THEN Got(me, left, m.rec) ELSE me
          [] m.op = "write" -> IF WaitsToWrite(me) /\ me.wn = m.a /\ left > 0 THEN Wrote(me, left) ELSE me]
    /\ UNCHANGED <<srv, stray, pushed, faults>>

\* @world
Lose(m) == Fault /\ mail' = mail \ {m} /\ UNCHANGED <<srv, cl, stray, pushed>>
\* @world
RunLate(r) ==
    LET out == Run(srv, r) IN
    /\ stray' = stray \ {r} /\ srv' = out.s /\ mail' = mail \union out.msgs
    /\ cl' = [cl EXCEPT ![r.c].dying = IF Live(r.c) THEN @ ELSE Lease] /\ UNCHANGED <<pushed, faults>>
\* @world
Crash(c) ==
    /\ Live(c) /\ Fault
    /\ cl' = [cl EXCEPT ![c] = [Idle(@) EXCEPT !.live = FALSE, !.dying = Lease, !.wst = None, !.call = NoCall, !.wcall = NoCall]]
    /\ UNCHANGED <<srv, mail, stray, pushed>>
\* The places of a dead client lapse, and nobody is told.
\* @world
Vanish(c) ==
    /\ ~Live(c)
    /\ OfShare(srv, c) # {} \/ \E i \in 1..Len(srv.line) : srv.line[i].c = c
    /\ srv' = [srv EXCEPT !.rl = @ \ OfShare(srv, c), !.line = SelectSeq(@, LAMBDA p : p.c # c)]
    /\ UNCHANGED <<cl, mail, stray, pushed, faults>>

Due ==
    \/ mail # {}
    \/ \E c \in Clients :
        \/ MayBeat(c) \/ MustRenew(c) \/ MayReceive(c) \/ MayLapse(c) \/ MustEnd(c)
        \/ MayBeatWrite(c) \/ MayReceiveWrite(c) \/ MayLapseWrite(c)

Aged(call) == IF call = NoCall THEN call ELSE [call EXCEPT !.age = Min(Lease, @ + 1)]
\* @world
Tick ==
    /\ IF Due THEN Fault ELSE NoFault
    /\ srv' = [srv EXCEPT !.wttl = Less(@), !.w = IF srv.wttl = 1 THEN None ELSE @, !.wa = IF srv.wttl = 1 THEN 0 ELSE @,
                          !.sh = [c \in Clients |-> IF @[c].ttl < 2 THEN NoShare ELSE [@[c] EXCEPT !.ttl = @ - 1]],
                          !.rl = {[p EXCEPT !.age = Min(Lease, @ + 1)] : p \in @},
                          !.line = [i \in 1..Len(@) |-> [@[i] EXCEPT !.age = Min(Lease, @ + 1)]]]
    /\ cl' = [c \in Clients |->
                [cl[c] EXCEPT !.dying = Less(@), !.left = Less(@), !.hb = Less(@), !.wleft = Less(@), !.whb = Less(@),
                              !.call = Aged(@), !.wcall = Aged(@)]]
    /\ mail' = {[m EXCEPT !.age = IF m.op = "recall" THEN 0 ELSE Min(Lease, @ + 1)] : m \in mail}
    /\ stray' = {r \in {[x EXCEPT !.na = IF Dated(x.op) THEN Less(@) ELSE @] : x \in stray} : r.na > 0}
    /\ UNCHANGED pushed

Init ==
    /\ srv = [w |-> None, wa |-> 0, wttl |-> 0, last |-> "r", sh |-> [c \in Clients |-> NoShare], line |-> <<>>, rl |-> {}]
    /\ cl = [c \in Clients |->
                [live |-> TRUE, dying |-> 0, st |-> None, n |-> 0, left |-> 0, closed |-> FALSE, hb |-> 0, in |-> 0, again |-> 0,
                 reads |-> 0, call |-> NoCall, wst |-> None, wn |-> 0, wleft |-> 0, whb |-> 0, wcall |-> NoCall]]
    /\ mail = {} /\ stray = {} /\ pushed = FALSE /\ faults = Faults

Steps(c) ==
    \/ Beat(c) \/ Receive(c) \/ Lapse(c) \/ EndNow(c) \/ RenewNow(c)
    \/ BeatWrite(c) \/ ReceiveWrite(c) \/ LapseWrite(c)

Next ==
    \/ Tick
    \/ \E m \in mail : Deliver(m) \/ Lose(m)
    \/ \E r \in stray : RunLate(r)
    \/ \E c \in Clients :
        \/ Steps(c) \/ Exit(c) \/ Again(c) \/ Unlock(c) \/ Begin(c) \/ BeginWrite(c) \/ Renew(c) \/ Enter(c) \/ WantAgain(c) \/ End(c)
        \/ GiveUp(c) \/ Leave(c) \/ Downgrade(c) \/ Crash(c) \/ Vanish(c)

Spec == Init /\ [][Next]_vars

\* Time goes on, or somebody who is due acts; and threads go out again.
FairSpec ==
    /\ Spec
    /\ WF_vars(Tick \/ (\E m \in mail : Deliver(m)) \/ \E c \in Clients : Steps(c) \/ Vanish(c))
    /\ WF_vars(\E c \in Clients : Exit(c) \/ Again(c) \/ Unlock(c))

-----------------------------------------------------------------------------

\* While its share is valid, a client lets threads read without a request.
ReadsNow(c) == Valid(c) /\ cl[c].left > 0
WritesNow(c) == Live(c) /\ cl[c].wst = "valid" /\ cl[c].wleft > 0

Honest == \A c \in Clients : (ReadsNow(c) => HasBy(srv, c, cl[c].n)) /\ (WritesNow(c) => IsWriter(srv, c, cl[c].wn))

Exclusion == \A c, d \in Clients : WritesNow(c) => ~ReadsNow(d) /\ (c # d => ~WritesNow(d))

\* Redis has a writer or shares, never both.
OneKind == srv.w # None => Sharers(srv) = {}

\* No share is replaced by one of an earlier attempt.
Growing == [][\A c \in Clients : Has(srv, c) /\ Has(srv', c) => srv'.sh[c].a >= srv.sh[c].a]_vars

\* A writer that waits sees of each client at most one share for each writer before it, and a share at most one writer.
Bypass ==
    /\ \A i \in 1..Len(srv.line) : Live(srv.line[i].c) => \A c \in Clients : srv.line[i].by[c] <= srv.line[i].may
    /\ \A p \in srv.rl : p.by <= p.may + (Faults - faults)

\* The share of a client that died is gone a lease later, whoever renews another.
DeadByLease == \A c \in Clients : ~Live(c) /\ cl[c].dying = 0 => ~Has(srv, c)

\* While no message is under way or was lost, no thread begins to read past a writer that waits.
NoneEnters == ~pushed

\* No live waiter waits for ever, even if others die.
NoLostWakeUp ==
    /\ \A c \in Readers : Waits(cl[c]) ~> ~Waits(cl[c])
    /\ \A c \in Writers : WaitsToWrite(cl[c]) ~> ~WaitsToWrite(cl[c])

=============================================================================
