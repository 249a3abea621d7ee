-- Small scripts that the in-memory Redis and a real one must answer alike. Each begins with a line --# and its name.
-- The snippets find KEYS a, b, c, d, the last of them a string 'text', and ARGV '1', 'two', '3.5', '', 'süß',
    '1790000000000000'.
-- `show` writes any value as text; what a snippet returns is shown, unless it is a list.

--# exists
return show(redis.call('exists', 'a'), redis.call('exists', 'a', 'd', 'd', 'b'))
--# exists without keys
return show(redis.pcall('exists'))
--# del
return show(redis.call('del', 'a'), redis.call('del', 'a', 'd', 'd'), redis.call('exists', 'd'))
--# pttl
return show(redis.call('pttl', 'a'), redis.call('pttl', 'd'))
--# pexpire of nothing
return show(redis.call('pexpire', 'a', 1000), redis.call('pttl', 'a'))
--# pexpire
return show(redis.call('pexpire', 'd', 1000000), redis.call('pttl', 'd') > 990000, redis.call('pttl', 'd') <= 1000000)
--# pexpire that only raises
redis.call('pexpire', 'd', 100000)
local lower, higher = redis.call('pexpire', 'd', 1000, 'gt'), redis.call('pexpire', 'd', '200000', 'GT')
return show(lower, higher, redis.call('pttl', 'd') > 190000)
--# pexpire that only raises, of what never expires and of nothing
return show(redis.call('pexpire', 'd', 1000, 'gt'), redis.call('pttl', 'd'), redis.call('pexpire', 'a', 1000, 'gt'))
--# the version that scripts see
return show(redis.REDIS_VERSION_NUM >= 0x070000)
--# pexpire at once
return show(redis.call('pexpire', 'd', 0), redis.call('exists', 'd'), redis.call('pexpire', 'd', 1))
--# pexpire in the past
return show(redis.call('pexpire', 'd', -5), redis.call('exists', 'd'))
--# pexpire by no integer
return show(redis.pcall('pexpire', 'd', 1.5), redis.pcall('pexpire', 'd', 'x'), redis.pcall('pexpire', 'd', '007'))
--# pexpire too far
return show(redis.pcall('pexpire', 'd', '9223372036854775807'))
--# pexpire of a fraction
redis.call('pexpire', 'd', 10 / 4)
--# get
return show(redis.call('get', 'a'), redis.call('get', 'd'))
--# get of a hash
redis.call('hset', 'a', 'f', 1)
return show(redis.pcall('get', 'a'))
--# set
return show(redis.call('set', 'a', 'x'), redis.call('get', 'a'), redis.call('pttl', 'a'))
--# set drops the expiry
redis.call('pexpire', 'd', 100000)
return show(redis.call('set', 'd', 1), redis.call('pttl', 'd'))
--# set keeps the expiry
redis.call('pexpire', 'd', 100000)
return show(redis.call('set', 'd', 1, 'keepttl'), redis.call('pttl', 'd') > 90000, redis.call('get', 'd'))
--# set px
return show(redis.call('set', 'a', 'x', 'PX', 100000), redis.call('pttl', 'a') > 90000, redis.call('pttl',
    'a') <= 100000)
--# set ex
return show(redis.call('set', 'a', 'x', 'ex', '100'), redis.call('pttl', 'a') > 90000, redis.call('pttl',
    'a') <= 100000)
--# append
redis.call('pexpire', 'a', 100000)
return show(redis.call('append', 'a', '+'), redis.call('get', 'a'), redis.call('pttl', 'a') > 90000, redis.call('append',
    'b', 'new'), redis.call('get', 'b'), redis.call('pttl', 'b'))
--# append to a hash
redis.call('hset', 'c', 'f', 1)
return show(redis.pcall('append', 'c', 'x'))
--# set nx
return show(redis.call('set', 'a', 'x', 'nx'), redis.call('set', 'a', 'y', 'nx', 'px', 1000), redis.call('get', 'a'))
--# set xx
return show(redis.call('set', 'a', 'x', 'xx'), redis.call('exists', 'a'), redis.call('set', 'd', 'y', 'xx'))
--# set get
return show(redis.call('set', 'a', 'x', 'get'), redis.call('set', 'd', 'y', 'get'), redis.call('get', 'd'))
--# set nx get
return show(redis.call('set', 'd', 'y', 'nx', 'get'), redis.call('get', 'd'))
--# set get over a hash
redis.call('hset', 'a', 'f', 1)
return show(redis.pcall('set', 'a', 'x', 'get'), redis.call('set', 'a', 'x'), redis.call('get', 'a'))
--# set with bad options
return show(redis.pcall('set', 'a', 'x', 'px'), redis.pcall('set', 'a', 'x', 'nx', 'xx'), redis.pcall('set', 'a',
    'x', 'often'),
    redis.pcall('set', 'a', 'x', 'px', 1, 'keepttl'), redis.pcall('set', 'a', 'x', 'px', 1, 'ex', 1))
--# set with a bad lease
return show(redis.pcall('set', 'a', 'x', 'px', 0), redis.pcall('set', 'a', 'x', 'px', -1), redis.pcall('set', 'a',
    'x', 'px', 'y'))
--# hset
return show(redis.call('hset', 'a', 'f', 'v', 'g', 'w'), redis.call('hset', 'a', 'f', 'x', 'h', 'y', 'h', 'z'),
    redis.call('hgetall', 'a'))
--# hset odd
return show(redis.pcall('hset', 'a', 'f', 'v', 'g'))
--# hset too few
return show(redis.pcall('hset', 'a', 'f'))
--# hset over a string
return show(redis.pcall('hset', 'd', 'f', 'v'))
--# hset keeps the expiry
redis.call('hset', 'a', 'f', 'v')
redis.call('pexpire', 'a', 100000)
redis.call('hset', 'a', 'f', 'w')
return show(redis.call('pttl', 'a') > 90000)
--# hget
redis.call('hset', 'a', 'f', 'v', 'empty', '')
return show(redis.call('hget', 'a', 'f'), redis.call('hget', 'a', 'g'), redis.call('hget', 'b', 'f'),
    redis.call('hget', 'a', 'empty'))
--# hmget
redis.call('hset', 'a', 'f', 'v', 'g', 'w')
return show(redis.call('hmget', 'a', 'g', 'x', 'f'), redis.call('hmget', 'b', 'f', 'g'), redis.pcall('hmget', 'd',
    'f'))
--# hmget as false
local held = redis.call('hmget', 'a', 'f', 'g')
return show(held[1] == false, #held, not held[2], held[3] == nil)
--# hgetall of nothing
return show(redis.call('hgetall', 'a'))
--# hdel
redis.call('hset', 'a', 'f', 'v', 'g', 'w', 'h', 'x')
return show(redis.call('hdel', 'a', 'f', 'x', 'f'), redis.call('hdel', 'a', 'g', 'h'), redis.call('exists', 'a'),
    redis.call('hdel', 'a', 'f'))
--# hdel from a string
return show(redis.pcall('hdel', 'd', 'f'))
--# hash order
redis.call('hset', 'a', 'z', 1, 'b', 2, 'a', 3)
redis.call('hdel', 'a', 'z')
redis.call('hset', 'a', 'b', 4, 'z', 5)
return show(redis.call('hkeys', 'a'), redis.call('hgetall', 'a'), redis.call('hlen', 'a'))
--# hsetnx
return show(redis.call('hsetnx', 'a', 'f', 1), redis.call('hsetnx', 'a', 'f', 2), redis.call('hget', 'a', 'f'),
    redis.call('pttl', 'a'), redis.pcall('hsetnx', 'd', 'f', 1))
--# hincrby
return show(redis.call('hincrby', 'a', 'f', 2), redis.call('hincrby', 'a', 'f', -3), redis.call('hget', 'a', 'f'))
--# hincrby of no integer
redis.call('hset', 'a', 'f', 'x', 'g', '1.5', 'h', '007', 'i', '9223372036854775807')
return show(redis.pcall('hincrby', 'a', 'f', 1), redis.pcall('hincrby', 'a', 'g', 1), redis.pcall('hincrby', 'a',
    'h', 1),
    redis.pcall('hincrby', 'a', 'i', 1), redis.pcall('hincrby', 'a', 'j', 1.5), redis.pcall('hincrby', 'd', 'j', 1))
--# hexists, hlen, hkeys of nothing
return show(redis.call('hexists', 'a', 'f'), redis.call('hlen', 'a'), redis.call('hkeys', 'a'))
--# hexists, hlen, hkeys of a string
return show(redis.pcall('hexists', 'd', 'f'), redis.pcall('hlen', 'd'), redis.pcall('hkeys', 'd'))
--# hexists
redis.call('hset', 'a', 'f', '')
return show(redis.call('hexists', 'a', 'f'), redis.call('hexists', 'a', 'g'), redis.call('hlen', 'a'))
--# zadd
return show(redis.call('zadd', 'a', 1, 'x', 2, 'y'), redis.call('zadd', 'a', 3, 'x', 1, 'z'), redis.call('zrange',
    'a', 0, -1, 'withscores'))
--# zadd nx
redis.call('zadd', 'a', 1, 'x')
return show(redis.call('zadd', 'a', 'nx', 5, 'x', 2, 'y'), redis.call('zrange', 'a', 0, -1, 'WITHSCORES'))
--# zadd of a bad score
return show(redis.pcall('zadd', 'a', 'x', 'y'), redis.pcall('zadd', 'a', 1, 'x', 2), redis.pcall('zadd', 'a', '',
    'x'),
    redis.call('exists', 'a'))
--# zadd to a string
return show(redis.pcall('zadd', 'd', 1, 'x'))
--# scores
redis.call('zadd', 'a', '1790000000000000', 'micros', 1790000000000001, 'number', 0.1, 'tenth', '-0', 'zero',
    'inf', 'inf',
    '-inf', '-inf', '1e20', 'big', 1e16, 'sixteen', 9007199254740993, 'odd', -2.5, 'minus')
return show(redis.call('zrange', 'a', 0, -1, 'withscores'))
--# scores of the same value
redis.call('zadd', 'a', 0, 'b', 0, 'a', 0, 'B', 0, 'ab', 0, 'süß', 0, 'z', 0, '', '-0', 'A')
return show(redis.call('zrange', 'a', 0, -1))
--# zrange by index
redis.call('zadd', 'a', 1, 'p', 2, 'q', 3, 'r', 4, 's')
return show(redis.call('zrange', 'a', 0, 0), redis.call('zrange', 'a', -1, -1), redis.call('zrange', 'a', -3, 2),
    redis.call('zrange', 'a', 2, 1), redis.call('zrange', 'a', 4, 9), redis.call('zrange', 'a', -9, 9),
    redis.call('zrange', 'b', 0, -1))
--# zrange rev
redis.call('zadd', 'a', 1, 'p', 2, 'q', 3, 'r')
return show(redis.call('zrange', 'a', 0, 0, 'rev'), redis.call('zrange', 'a', 0, -1, 'rev', 'withscores'))
--# zrange wrong
return show(redis.pcall('zrange', 'a', 'x', 1), redis.pcall('zrange', 'a', 0, 1, 'often'), redis.pcall('zrange',
    'd', 0, 1),
    redis.pcall('zrange', 'a', 0))
--# zscore
redis.call('zadd', 'a', 1.25, 'x', '1790000000000000', 'y')
return show(redis.call('zscore', 'a', 'x'), redis.call('zscore', 'a', 'y'), redis.call('zscore', 'a', 'z'),
    redis.call('zscore', 'b', 'x'),
    redis.pcall('zscore', 'd', 'x'))
--# zpopmin
redis.call('zadd', 'a', 2, 'y', 1790000000000000, 'z', 2, 'x')
redis.call('pexpire', 'a', 1000000)
return show(redis.call('zpopmin', 'a'), redis.call('zpopmin', 'a'), redis.call('pttl', 'a') > 0,
    redis.call('zpopmin', 'a'), redis.call('exists', 'a'), redis.call('zpopmin', 'a'), redis.pcall('zpopmin', 'd'))
--# zrem
redis.call('zadd', 'a', 1, 'x', 2, 'y', 3, 'z')
return show(redis.call('zrem', 'a', 'y', 'q'), redis.call('zrem', 'a', 'x', 'z', 'x'), redis.call('exists', 'a'),
    redis.call('zrem', 'a', 'x'),
    redis.pcall('zrem', 'd', 'x'))
--# zcard, zrank
redis.call('zadd', 'a', 5, 'x', 2, 'y', 3, 'z')
return show(redis.call('zcard', 'a'), redis.call('zcard', 'b'), redis.call('zrank', 'a', 'x'), redis.call('zrank',
    'a', 'y'),
    redis.call('zrank', 'a', 'q'), redis.call('zrank', 'b', 'q'), redis.pcall('zcard', 'd'), redis.pcall('zrank',
    'd', 'x'))
--# zrangebylex
redis.call('zadd', 'a', 0, 'a\0001', 0, 'a\0002', 0, 'b\0001', 0, 'c')
return show(redis.call('zrangebylex', 'a', '[a\000', '(a\001'), redis.call('zrangebylex', 'a', '-', '+'),
    redis.call('zrangebylex', 'a', '+', '-'),
    redis.call('zrangebylex', 'a', '(a\0001', '[c', 'limit', 1, 1), redis.call('zrangebylex', 'a', '-', '+',
    'limit', -1, 1),
    redis.call('zrangebylex', 'a', '-', '+', 'limit', 1, -1), redis.pcall('zrangebylex', 'a', 'a', 'b'),
    redis.call('zrangebylex', 'b', '-', '+'))
--# zrangebyscore
redis.call('zadd', 'a', 1, 'p', 2, 'q', 3, 'r', 'inf', 's')
return show(redis.call('zrangebyscore', 'a', 2, 3), redis.call('zrangebyscore', 'a', '(1', '(3'),
    redis.call('zrangebyscore', 'a', '-inf', '+inf', 'withscores'),
    redis.call('zrangebyscore', 'a', 0, 'inf', 'limit', 1, 2), redis.pcall('zrangebyscore', 'a', 'x', 1),
    redis.call('zrangebyscore', 'b', 0, 1))
--# publish
return show(redis.call('publish', 'nobody', 'x'))
--# time
local time = redis.call('time')
return show(#time, type(time[1]), type(time[2]), #time[1], time[1] * 1000000 + time[2] > 1700000000000000)
--# upper case
return show(redis.call('EXISTS', 'd'), redis.call('HSet', 'a', 'f', 1))
--# numbers as arguments
local function kept(number)
    redis.call('hset', 'a', 'f', number)
    return redis.call('hget', 'a', 'f')
end
return show(kept(1), kept(-7), kept(1.5), kept(0.1), kept(1 / 3), kept(1790000000000000), kept(2 ^ 53),
    kept(2 ^ 53 + 1), kept(-0),
    kept(1e16), kept(123456789012345678), kept(1e17), kept(1e100), kept(1e-5), kept(0.00012), kept(-1.25e-9),
    kept(1 / 0), kept(-1 / 0), kept(100), kept(5e-324))
--# numbers as text
return show(1790000000000000 .. '', tostring(1790000000000000), tostring(123456789012345), 0.1 .. '', tostring(-0),
    tostring(1e15), 2 ^ 31 .. '')
--# string.format
return show(string.format('%.0f', 1790000000000000), string.format('%d', 1790000000000000),
    string.format('%.0f %.0f', 1.5, 2.5), string.format('%s', 1e15))
--# text as numbers
return show(tonumber('1790000000000000') + 1, '10' * 2, tonumber(''), tonumber('x'), tonumber(' 7 '),
    tonumber('0x10'), '5' == 5)
--# keys and arguments
return show(KEYS, ARGV, #KEYS, #ARGV, KEYS[5], ARGV[7])
--# text beyond ASCII
redis.call('hset', 'a', ARGV[5], 'grün €  𝄞')
return show(#ARGV[5], redis.call('hgetall', 'a'), string.byte(ARGV[5], 2), redis.call('hget', 'a',
    's\195\188\195\159'))
--# bytes
redis.call('set', 'a', '\000\001\000\200')
return show(#redis.call('get', 'a'), redis.call('get', 'a') == '\000\001\000\200', string.byte(redis.call('get',
    'a'), 4))
--# arguments of other types
return show(redis.pcall('set', 'a', true), redis.pcall('set', 'a', {}), redis.pcall('set', 'a'), redis.pcall())
--# call raises
redis.call('get', 'a', 'b')
--# call raises the wrong type
redis.call('hget', 'd', 'f')
--# pcall of Lua catches text
return show(pcall(redis.call, 'hget', 'd', 'f'))
--# pcall of Lua
return show(pcall(error, 'boom'), pcall(function() return 1, 2 end))
--# error with text
error('boom')
--# error with a table
error({err = 'MINE own text'})
--# error without text
error()
--# arithmetic on nil
return nil + 1
--# missing global
return nothing
--# new global
something = 1
--# ARGV assigned
ARGV = {}
--# redis assigned
redis = nil
--# global by _G
_G.x = 1
--# global by rawget
return show(rawget(_G, 'nothing'), type(_G))
--# error_reply
return show(redis.error_reply('MINE own text'), redis.error_reply('-MINE own text'), redis.error_reply('one'))
--# error_reply returned
return redis.error_reply('MINE own text')
--# error table returned
return {err = 'MINE own text'}
--# pcall's error returned
return redis.pcall('hget', 'd', 'f')
--# status_reply
return show(redis.status_reply('FINE'), redis.call('set', 'a', 1))
--# list of numbers
return {'CODE', 1, 1.9, -1.9, 1790000000000000, 0, 2 ^ 53, 1e15 + 0.5}
--# list of texts
return {'CODE', '', 'süß', '1', 'a\000b', tostring(12)}
--# list until nil
return {'CODE', 1, nil, 3}
--# list with false
return {'CODE', false}
--# list with true
return {'CODE', true}
--# list with a list
return {'CODE', {1}}
--# list with fields
return {'CODE', 1, x = 2}
--# list without code
return {1, 'CODE'}
--# empty list
return {}
--# no list
return 'CODE'
--# nothing
return
--# unfinished
return (
--# a long hash
for i = 1, 100 do
    redis.call('hset', 'a', 'f' .. i, i)
end
return show(redis.call('hlen', 'a'), redis.call('hget', 'a', 'f77'))
--# many values
local values = {'CODE'}
for i = 1, 500 do
    values[#values + 1] = i
end
return values
--# long zset
for i = 1, 100 do
    redis.call('zadd', 'a', (i * 37) % 101, 'm' .. i)
end
redis.call('zrem', 'a', 'm50', 'm1')
return show(redis.call('zrange', 'a', 0, -1), redis.call('zrank', 'a', 'm7'))
--# debug and os
return show(type(math.floor), type(table.concat))
--# io
return io
--# require
return require('x')
--# closures have variables of their own
local made = {}
for i = 1, 3 do
    local n = i * 10
    made[i] = function(step)
        n = n + step
        return n, i
    end
end
made[1](1)
return show(made[1](1), (made[2](5)), made[3](0))
--# functions that call themselves
local function sum(n)
    return n == 0 and 0 or n + sum(n - 1)
end
local even, odd
function even(n)
    return n == 0 or odd(n - 1)
end
function odd(n)
    return n ~= 0 and even(n - 1)
end
return show(sum(20), even(10), odd(10))
--# variables that hide others
local x = 1
do
    local x = x + 1
    x = x + 1
end
for x = 5, 6 do
    local x = x
end
local function f(x)
    x = x or 7
    return x
end
return show(x, f(), f(nil), f(false), f(2))
--# values in a row
local function three()
    return 1, 2, 3
end
local a, b, c, d = 0, three()
local t = {three(), three()}
local u = {three(), (three())}
return show(a, b, c, d, t, u, (three()), three(), #{three(), nil})
--# rest
local function rest(...)
    local a, b = ...
    return select('#', ...), a, b, select(2, ...)
end
return show(rest(), rest(nil), rest(nil, nil), rest(1, 2, 3), select(-1, 4, 5), pcall(select, 0))
--# assignments at once
local a, b, t = 1, 2, {}
a, b = b, a
t.x, t.y, t[1], t[2] = a, b, 'one'
local i = 1
i, t[i] = i + 1, 20
return show(a, b, t.x, t.y, t, i)
--# tables
local t = {10, 20, 30, nil, x = 1, ['y z'] = 2, [4] = 40, [2 + 3] = 50; 'last'}
t[#t + 1] = 'more'
t.x = nil
return show(t, #t, t.x, t['y z'], t[1.0], t[-1], #{}, #{nil}, #{nil, 2}, #'süß')
--# elements of nothing
local t = {}
t[1] = 1
t[3] = 3
t[2] = 2
t[3] = nil
return show(#t, t, t[4])
--# loops
local seen = {}
for i = 10, 1, -4 do
    seen[#seen + 1] = i
end
for i = 1, 0 do
    seen[#seen + 1] = 'never'
end
for i = 1, 2, 0.5 do
    seen[#seen + 1] = i
end
local n = 0
while true do
    n = n + 1
    if n == 3 then
        break
    end
end
repeat
    local stop = n >= 5
    n = n + 1
until stop
return show(seen, n)
--# loops over tables
local keys, values = {}, {}
for i, value in ipairs({'a', 'b', nil, 'd'}) do
    keys[i], values[i] = i, value
end
local count = 0
for key, value in pairs({x = 1, y = 2, 5, 6}) do
    count = count + value
end
return show(keys, values, count, next({}), type(next), next({7}))
--# choices
local function kind(n)
    if n < 0 then
        return 'less'
    elseif n == 0 then
        return 'none'
    else
        return 'more'
    end
end
return show(kind(-1), kind(0), kind(1), nil and 1, false or nil, 0 and 'zero', '' or 1, not nil, not 0, 1 and 2 or 3)
--# sums
return show(7 % 3, -7 % 3, 7 % -3, -7 % -3, 5.5 % 2, 2 ^ 10, 2 ^ 3 ^ 2, -2 ^ 2, 7 / 2, 1 - 2 - 3, 2 * 3 + 4, 2 + 3 * 4,
    - -3, '3' + 4, '0x10' * 1, 10 .. 20, 1 / 0, -1 / 0, 3 == 3.0, '1' == 1)
--# orders
return show(1 < 2, 2 <= 2, 3 > 4, 4 >= 4, 'a' < 'b', 'a' < 'B', 'Z' < 'a', '' < 'a', 'a' <= 'a', 'ü' > 'z', 1 ~= 1,
    'a' ~= 'b', {} == {}, nil == false)
--# comparisons that fail
local function of(f)
    local _, problem = pcall(f)
    return problem
end
return show(of(function() return 1 < '2' end), of(function() return {} < {} end),
    of(function() return nil <= 1 end), of(function() return 'a' > 1 end), of(function() return true < false end))
--# names in errors
local t, none, text = {}, nil, 'x'
local function of(f)
    local _, problem = pcall(f)
    return problem
end
return show(
    of(function() return none.x end), of(function() return t.x.y end), of(function() t.x.y = 1 end),
    of(function() local own; return own.x end), of(function() local own; own() end), of(function() none() end),
    of(function() t.x() end), of(function() return t.x + 1 end), of(function() return 1 + none end),
    of(function() return text + 1 end), of(function() local own; return 'a' .. own end), of(function() return t .. 'a' end),
    of(function() return #none end), of(function() return -t end), of(function() t[nil] = 1 end),
    of(function() t[0 / 0] = 1 end), of(function() redis.nothing() end), of(function() return math.floor(none) end),
    of(function() return (none)() end), of(function() return t[1][2] end), of(function() return redis.call() end),
    of(function() for i = 1, 'x' do end end), of(function() for i = none, 1 do end end))
--# wrong arguments
local function of(...)
    local _, problem = pcall(...)
    return problem
end
return show(of(string.rep), of(string.sub, nil), of(string.match, 'x'), of(tonumber), of(math.max),
    of(string.char, 256), of(string.format, '%d', 'x'), of(ipairs), of(table.concat, {{}}),
    of(unpack), of(string.match, 'x', '['), of(string.match, 'x', '(x'), of(string.find, 'x', '%'),
    of(5))
--# an error in a function that is called
local function fail(level)
    redis.call('hget', 'd', 'f')
end
local function call()
    fail()
end
call()
--# an error on its line
local x
local y = {
    1,
    2,
}

x = y[1] .. y[2]
x = x .. y[3]
--# error caught and raised again
local ok, problem = pcall(function() error('first') end)
error(problem)
--# error with a number
error(12)
--# assert
return show(pcall(assert, false), pcall(assert, nil, 'why'), pcall(assert, 1, 2), pcall(assert))
--# pcall in pcall
return show(pcall(pcall, error, 'x'), pcall(function() return pcall(error, {err = 'MINE text'}) end))
--# the first and the last of a text
return show(string.sub('hello', 2, 3), string.sub('hello', -3), string.sub('hello', 0), string.sub('hello', 4, 9),
    string.sub('hello', 3, 2), string.sub('hello', -9, 2), string.sub('hello', -2, -1), ('hello'):sub(2, -2), string.sub('', 1))
--# bytes of a text
return show(string.byte('abc'), string.byte('abc', 2, 3), string.byte('abc', -1), string.byte('', 1), string.byte('abc', 9),
    string.char(), string.char(97, 0, 255) == 'a\000\255', #'\n\\\'\065')
--# letters of a text
return show(string.upper('aBc-1ü'), string.lower('aBC-1Ü'), string.rep('ab', 3), string.rep('ab', 0), string.rep('a', -1),
    string.reverse('abc'), string.len('süß'), ('x'):rep(2))
--# texts in brackets
return show([[a
b]], [==[
x]]y]==], 'a\
b', "it's", 'say "so"') -- a comment
--[[ one
over lines ]]
--# find
return show(string.find('hello', 'l'), string.find('hello', 'l', 4), string.find('hello', 'xyz'), string.find('hello', ''),
    string.find('hello', '', 9), string.find('a.b', '.', 1, true), string.find('a+b', '+', 1, true),
    string.find('hello', '(l)(l)'), string.find('hello', '^h'), string.find('hello', '^e'), string.find('hello', 'o$'),
    string.find('hello', 'l', -2), string.find('a$b', '$b'))
--# match
return show(string.match('key = value', '^(%w+)%s*=%s*(%w+)$'), string.match('  trim  ', '^%s*(.-)%s*$'),
    string.match('2026-11-25', '(%d+)-(%d+)-(%d+)'), string.match('abc', '()b()'), string.match('abc', 'x*'),
    string.match('aaa', 'a-'), string.match('aaa', '^a-$'), string.match('[x]', '%[(.*)%]'), string.match('a.b', '%.'),
    string.match('', '.'), string.match('', '.*'), string.match('aab', 'a?a?a?b'), string.match('x', '(x)(y?)'),
    string.match('host:1:abc:17:4', '^(.*):[^:]*:(%d+)$'), string.match('-', '[-a]'), string.match(']', '[]]'),
    string.match('^', '[%^]'), string.match('b', '[^a-]'), string.match('d', '[a-c]'), string.match('ü', '[\128-\255]+'))
--# classes
local function all(class)
    local found = {}
    for i = 0, 127 do
        if string.find(string.char(i), class) then
            found[#found + 1] = i
        end
    end
    return table.concat(found, ' ')
end
return show(all('%a'), all('%c'), all('%d'), all('%l'), all('%p'), all('%s'), all('%u'), all('%w'), all('%x'), all('%S'),
    all('%D'), all('[%a_]'), all('[^%w]'), all('[0-9a-f]'))
--# gsub
return show(string.gsub('hello', 'l', 'L'), string.gsub('hello', 'l', 'L', 1), string.gsub('hello', '', '-'),
    string.gsub('hello', '(.)', '%1%1'), string.gsub('hello', '.', '%0.'), string.gsub('abc', '%w', {a = 1, b = false}),
    string.gsub('abc', '%w', function(c) return c ~= 'b' and c:upper() or nil end), string.gsub('hello', '^h', 'j'),
    string.gsub('a b', '(%w) (%w)', '%2 %1'), string.gsub('100%', '%%', '%%%%'), string.gsub('abc', 'x*', '-'))
--# gmatch
local words = {}
for word in string.gmatch('one two  three', '%a+') do
    words[#words + 1] = word
end
for key, value in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do
    words[#words + 1] = key .. value
end
return show(words)
--# formats
return show(string.format('%5d|%-5d|%05d|%+d|% d', 42, 42, 42, 42, 42), string.format('%5s|%-5s|%.2s', 'ab', 'ab', 'abc'),
    string.format('%5.1f|%08.2f|%.3f|%f', 3.14159, -3.14159, 2, 0.5), string.format('%x %X %c %%', 255, 255, 65),
    string.format('%g %g %g %.3g', 100000, 1e20, 0.0001, 2 / 3), string.format('%d', -0.5), string.format('%d', '17'),
    string.format('%016.0f', 1790000000000000), string.format('%.0f', 0.5), string.format('%.14g', 0.1),
    string.format('%s %s', 1, 1.5), string.format('%i', 3.99), pcall(string.format, '%y', 1), pcall(string.format, '%d'))
--# lists
local list = {'b', 'c'}
table.insert(list, 'd')
table.insert(list, 1, 'a')
local gone, last = table.remove(list, 2), table.remove(list)
return show(list, gone, last, table.remove({}), table.concat({1, 2, 3}, ', '), table.concat({}, 'x'),
    table.concat({'a', 'b', 'c'}, '-', 2, 3), unpack({1, 2, 3}, 2), unpack({1, 2}, 1, 3))
--# mathematics
return show(math.floor(-1.5), math.ceil(-1.5), math.abs(-2), math.max(1, 5, 3), math.min(4, 2), math.sqrt(16), math.huge,
    math.fmod(-7, 3), math.pow(2, 3), math.floor(1790000000000000.7))
--# numbers from text
return show(tonumber('1e3'), tonumber('.5'), tonumber('5.'), tonumber('0x1F'), tonumber('1 2'), tonumber('1e'), tonumber(nil),
    tonumber(true), tonumber('ff', 16), tonumber('8', 8), tonumber('-7'), tonumber('+7'), tonumber({}), tonumber('12a'))
--# text from values
return show(tostring(nil), tostring(true), tostring(1.5), tostring('x'), tostring(1e100), tostring(2 ^ 53), tostring(-1.5e-7),
    type(tostring({})), tostring(100000000000000), tostring(1e14 + 0.5), 1e5 .. '')
--# keys that match a pattern
local function scan(pattern)
    local found, cursor = {}, '0'
    repeat
        local page = redis.call('scan', cursor, 'MATCH', pattern, 'count', 1000)
        cursor = page[1]
        for _, key in ipairs(page[2]) do
            local place = 1
            while found[place] and found[place] < key do
                place = place + 1
            end
            table.insert(found, place, key)
        end
    until cursor == '0'
    return pattern .. ' -> ' .. table.concat(found, ' ')
end
scan('none')
local made = {'s:a', 's:b', 's:*', 's:{c}', 's:]', 's:a.b', 'S:a', 's:^', 's:&', 's:-'}
for _, key in ipairs(made) do
    redis.call('set', key, 1, 'px', 60000)
end
local all = {}
for i, pattern in ipairs({'s:*', 's:?', 's:[ab]', 's:[a-c]', 's:[^a]', 's:[*&&]', 's:\\*', 's:{*}', 's:a.b', '*:a', 's:a?b',
    's:[b', 's:\\a', 's:[]', 's'}) do
    all[i] = scan(pattern)
end
redis.call('del', unpack(made))
return show(unpack(all))
--# a number without an end
return 1x
--# a text without an end
return 'abc
--# a name that is missing
local = 1
--# an end that is missing
if true then
--# an end too many
end
--# no statement
1 + 1
--# rest outside
local function f() return ... end
--# assignment to a call
redis.call('x') = 1
