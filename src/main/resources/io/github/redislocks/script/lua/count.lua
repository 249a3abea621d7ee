-- Counts the keys that match a pattern, among the next ones of this server; changes nothing.
-- KEYS     none
-- ARGV     cursor, pattern
-- returns  COUNTED, the next cursor or 0 at the end, how many
local scanned = redis.call('scan', ARGV[1], 'match', ARGV[2], 'count', 1000)
return {'COUNTED', scanned[1], #scanned[2]}
