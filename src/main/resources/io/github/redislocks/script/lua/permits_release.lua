-- Ends an owner's permits and serves the waiters.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt
-- returns  FREED 0 | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record

if not give_back(ARGV[1] .. ':' .. ARGV[2], false, true) then
    return {'GONE'}
end
if redis.call('exists', queue) == 0 then
    return {'FREED', 0}
end

--@include hold
--@include permits

serve_all()
return {'FREED', 0}
