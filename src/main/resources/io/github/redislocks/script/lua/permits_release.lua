-- Ends an owner's permits and serves the waiters.
-- KEYS     pool, queue, waiters, fence
-- ARGV     owner, attempt
-- returns  FREED 0 | GONE
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record

local place = ARGV[1] .. ':' .. ARGV[2]
local first = redis.call('zrange', queue, 0, 0)[1]
if not first then
    return give_back(place, false, true) and {'FREED', 0} or {'GONE'}
end

--@include hold
--@include permits

-- The usual case, kept short: the first waiter wants as many permits as this owner has, and gets these.
local known = redis.call('hmget', pool, place, 'reach')
local _, _, _, numbers = read(known[1])
local deadline, claim, wanted = look(first)
local last = redis.call('get', fence)
if numbers and not known[2] and deadline and deadline >= now and wanted == count(numbers) and is_recent(last) then
    local token = mint(last)
    if notify(first, token, '0', numbers) then
        drop(first)
        redis.call('hdel', pool, place)
        own({}, first, numbers, '0', claim, token)
        return {'FREED', 0}
    end
end

if not give_back(place, false, true) then
    return {'GONE'}
end
serve_all()
return {'FREED', 0}
