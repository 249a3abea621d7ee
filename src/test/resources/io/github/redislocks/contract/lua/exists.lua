-- Asks for one key: what a request costs that does nothing.
-- KEYS     any
-- ARGV     none
-- returns  1 if there is such a key, else 0
return redis.call('exists', KEYS[1])
