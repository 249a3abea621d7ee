-- Scripts that the tests of the transport send. KEYS[1] is theirs.

--# ping
return {'PONG'}
--# ok
return {'OK'}
--# count
return {'OK', redis.call('incr', KEYS[1])}
--# set
redis.call('set', KEYS[1], 'v')
return {'OK'}
--# hset
return {redis.call('hset', KEYS[1], 'f', 'v')}
--# endless
while true do end
--# echo a number
return {'OK', tonumber(ARGV[1])}
--# echo
return {'OK', 1790000000000001, KEYS[1], ARGV[1], ''}
--# error
return redis.error_reply('OOM too much')
--# number
return 1
--# no list
return 'OK'
--# false in a list
return {'OK', false}
