-- Tells whether the scripts of this server know whom their messages reach. If not, as where a proxy leads subscriptions to
-- a replica, they pass waiters over that have heard of a grant all the same: such a message is no proof of it.
-- KEYS     lock of nobody
-- ARGV     mailbox, to which its client has just subscribed
-- returns  1 if it counts, or takes every message for received; else 0
local reached = redis.pcall('publish', ARGV[1], '')
if type(reached) == 'table' or reached > 0 then
    return 1
end
local info = redis.pcall('info', 'cluster')
return type(info) == 'string' and string.find(info, 'cluster_enabled:0', 1, true) and 0 or 1
