-- Sets how many permits there are, and serves the waiters. Permits above a smaller size stay until they are given back.
-- KEYS     pool, queue, waiters, fence
-- ARGV     size, notAfter(µs)
-- returns  OK previous size now: previous is the size before, 0 if Redis did not know it | LATE now
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
    return {'LATE', now}
end

--@include permits_record
--@include hold
--@include permits

local all = fields()
local previous, size = tonumber(all.size or '0'), tonumber(ARGV[1])
local most = size
for number = size, reach(all, previous) - 1 do
    if ends_at(all, tostring(number)) then
        most = number + 1
    end
end
redis.call('hset', pool, 'size', size, 'reach', most)
extend(pool, MEMORY)
serve_all()
return {'OK', previous, size, now}
