-- Included by the scripts that keep a hold alive.
-- A lease only ever grows: a late request must not shorten it under a validity that a later one has promised. Always
-- written: replicas that are waited for behind this then have the hold, whoever made it. From Redis 7.0 on, which tells
-- scripts its version, one command raises an expiry and leaves a later one as it is.
local RAISES = redis.REDIS_VERSION_NUM ~= nil

local function extend(key, lease)
    if not RAISES or redis.call('pexpire', key, lease, 'gt') == 0 then
        redis.call('pexpire', key, math.max(redis.call('pttl', key), tonumber(lease)))
    end
end
