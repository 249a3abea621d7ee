-- Included by the scripts that grant something to a waiter. Needs KEYS[1], a key of the lock or pool, and hold.lua.
-- Whether this server is certainly no node of a cluster; in a cluster a message reaches more subscribers than its
-- sender can count.
local function alone()
    local info = redis.pcall('info', 'cluster')
    return type(info) == 'string' and string.find(info, 'cluster_enabled:0', 1, true) ~= nil
end

-- Publishes a grant to an attempt of a client; returns whether the message reached the client, or may have: a PUBLISH that
-- the channel ACL refuses proves nothing.
local function told(client, attempt, grant)
    local mailbox = string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. client
    local reached = publish(mailbox, attempt .. grant)
    local heard = type(reached) == 'table' or reached > 0 or not alone()
    if not heard then
        -- For a client that listens at a replica: the message says to ask.
        redis.pcall('publish', mailbox, attempt .. ' 0 0')
    end
    return heard
end
