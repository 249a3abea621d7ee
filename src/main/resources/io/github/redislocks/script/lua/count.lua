-- Counts the keys that match a pattern in the next part of a scan of this server; changes nothing.
-- KEYS     none
-- ARGV     cursor, pattern
-- returns  COUNTED, then the next cursor, which is 0 at the end, and the count
local scanned = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 1000)
return {'COUNTED', scanned[1], #scanned[2]}
