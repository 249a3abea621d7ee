-- Shows who has permits, and who waits for some. Changes nothing.
-- KEYS     pool, queue, waiters, fence
-- ARGV     none
-- returns  OK size count, then for each place that has permits: place numbers token
--          left(ms); then for each place that waits: place wanted
--          size: 0 if Redis does not know it
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

--@include permits_record
--@include hold
--@include permits

local all = fields()
local size = tonumber(all.size or '0')
local reply, seen = {'OK', size, 0}, {}
for number = 0, reach(all, size) - 1 do
    local place = all[tostring(number)]
    if place and not seen[place] then
        seen[place] = true
        local token, deadline, _, numbers = read(all[place])
        if deadline then
            reply[3] = reply[3] + 1
            for _, value in ipairs({place, numbers, token, math.floor((deadline - now) / 1000)}) do
                reply[#reply + 1] = value
            end
        end
    end
end
for _, place in ipairs(redis.call('zrange', queue, 0, -1)) do
    local deadline, _, wanted = look(place)
    if deadline and deadline >= now then
        reply[#reply + 1] = place
        reply[#reply + 1] = wanted
    end
end
return reply
