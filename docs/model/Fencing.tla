------------------------------ MODULE Fencing ------------------------------
(***************************************************************************)
(* Tokens and the resource. Holders that were paused write after their      *)
(* lease; Redis forgets what it knew. What keeps the lock is left to Lease: *)
(* here every hold may end at any time, and its holder may not know it.     *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Clients,
    Clock,      \* how far Redis' clock goes
    Back,       \* how far it may be set back, when Redis is restarted
    Broken      \* the rule that is left out, or "nothing"

VARIABLES
    now,        \* Redis' clock
    fence,      \* the last token in Redis, or 0 if the key is gone
    owner,      \* the owner of the lock in Redis
    issued,     \* the greatest token of all, as nobody can know it
    held,       \* the token by which each client writes, or 0
    seen,       \* the greatest token at the resource
    stale       \* whether the resource took an older one after a newer one

vars == <<now, fence, owner, issued, held, seen, stale>>

Max(x, y) == IF x > y THEN x ELSE y

\* mint in line.lua. What is gone counts as nothing; then only the clock makes a token grow.
Minted == IF Broken = "countOnly" THEN fence + 1 ELSE IF Broken = "clockOnly" THEN now ELSE Max(fence + 1, now)

\* own in line.lua, by acquire.lua or a grant: each hold has a token of its own, and a client that held before has lost that.
\* @lua hold.lua @java Scripts#acquire
Acquire(c) ==
    /\ owner = "none" /\ Minted <= Clock + 2
    /\ owner' = c
    /\ held' = [held EXCEPT ![c] = Minted]
    /\ fence' = Minted
    /\ issued' = Max(issued, Minted)
    /\ UNCHANGED <<now, seen, stale>>

\* release.lua, if it is still the holder, and a client that stops.
\* @lua release.lua @java Scripts#release
Release(c) ==
    /\ held[c] # 0
    /\ owner' = IF owner = c /\ fence = held[c] THEN "none" ELSE owner
    /\ held' = [held EXCEPT ![c] = 0]
    /\ UNCHANGED <<now, fence, issued, seen, stale>>

\* The lease ends in Redis, or it is forced. The holder may be paused, and goes on.
\* @world
Expire == owner # "none" /\ owner' = "none" /\ UNCHANGED <<now, fence, issued, held, seen, stale>>

\* fencingToken() goes with the write, and the resource compares: README, When two must never write.
\* @lua - @java RedisReentrantLock#fencingToken
Write(c) ==
    LET old == held[c] < seen IN
    /\ held[c] # 0
    /\ old => Broken = "noCheck"
    /\ seen' = Max(seen, held[c])
    /\ stale' = (stale \/ old)
    /\ UNCHANGED <<now, fence, owner, issued, held>>

\* @world
Tick == now < Clock /\ now' = now + 1 /\ UNCHANGED <<fence, owner, issued, held, seen, stale>>

\* Redis' clock is set back. Its data are kept; if they were lost before, then not behind the last token.
\* @world
SetBack ==
    /\ \E back \in 1..Back : /\ now >= back
                             /\ now - back > issued \/ fence = issued \/ Broken = "clockBack"
                             /\ now' = now - back
    /\ UNCHANGED <<fence, owner, issued, held, seen, stale>>

\* FLUSHALL, a restart without data, a stale replica, or just the end of the key, a day later. The clock may be another
\* one, if only it has passed the last token: the two disagree by less than the time since that.
\* @world
Forget ==
    /\ \E back \in 0..Back : /\ now >= back
                             /\ now - back > issued \/ Broken = "clockBack"
                             /\ now' = now - back
    /\ owner' = "none"
    /\ fence' \in {0, IF fence > 0 THEN fence - 1 ELSE 0}
    /\ UNCHANGED <<issued, held, seen, stale>>

Init ==
    /\ now = 1 /\ fence = 0 /\ owner = "none" /\ issued = 0
    /\ held = [c \in Clients |-> 0] /\ seen = 0 /\ stale = FALSE

Next == Tick \/ Expire \/ SetBack \/ Forget \/ \E c \in Clients : Acquire(c) \/ Release(c) \/ Write(c)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* Every hold has a greater token than all before it.
Growing == [][(\E c \in Clients : Acquire(c)) => Minted > issued]_vars

\* The resource never takes an older token after a newer one.
Fenced == ~stale

=============================================================================
