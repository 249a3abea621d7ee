-- Answers the try of another client: the try may ask again. See ADR 37.
-- KEYS     lock
-- ARGV     client, attempt
-- returns  OK
redis.set_repl(redis.REPL_NONE)
redis.pcall('publish', string.match(KEYS[1], '^[^{]*') .. 'mailbox:' .. ARGV[1], ARGV[2] .. ' ask')
return {'OK'}
