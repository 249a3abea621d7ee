-- Sets how many permits there are, and serves the waiters. Permits above a smaller size stay until they are given back.
-- KEYS     pool, queue, waiters, fence
-- ARGV     size, notAfter(µs)
-- returns  OK previous: the size before, 0 if Redis did not know it | LATE now
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
    return {'LATE', now}
end

--@include hold
--@include permits

local previous = tonumber(redis.call('hget', pool, 'size') or '0')
local size = tonumber(ARGV[1])
local reach = size
for i, place in ipairs(places(previous)) do
    if place and permits_of(place) then
        reach = math.max(reach, i)
    end
end
redis.call('hset', pool, 'size', size, 'reach', reach)
extend(pool, MEMORY)
serve(size)
return {'OK', previous}
