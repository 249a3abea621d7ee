package io.github.redislocks.testkit.twin;

import io.github.redislocks.testkit.twin.ScoredSet.Member;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The commands on sorted sets. */
final class ScoredSetCommands {

    private static final ScoredSet EMPTY = new ScoredSet();
    private static final String NO_LEX_RANGE = "ERR min or max not valid string range item";
    private static final String NO_SCORE_RANGE = "ERR min or max is not a float";

    private ScoredSetCommands() {}

    static void addTo(RedisCommands commands) {
        commands.add("zadd", -4, ScoredSetCommands::zadd);
        commands.add("zrem", -3, ScoredSetCommands::zrem);
        commands.add("zpopmin", 2, ScoredSetCommands::zpopmin);
        commands.add(
                "zcard", 2, (keys, arguments) -> (long) read(keys, arguments).size());
        commands.add("zscore", 3, ScoredSetCommands::zscore);
        commands.add("zrank", 3, ScoredSetCommands::zrank);
        commands.add("zrange", -4, ScoredSetCommands::zrange);
        commands.add("zrangebyscore", -4, (keys, arguments) -> {
            Predicate<Member> range =
                    from(score(arguments[2]), isOpen(arguments[2])).and(to(score(arguments[3]), isOpen(arguments[3])));
            return filtered(keys, arguments, range);
        });
        commands.add("zrangebylex", -4, (keys, arguments) -> {
            Predicate<Member> range = lex(arguments[2], 1).and(lex(arguments[3], -1));
            return filtered(keys, arguments, range);
        });
    }

    private static ScoredSet read(Keyspace keys, String[] arguments) {
        ScoredSet set = keys.scoredSet(arguments[1]);
        return set == null ? EMPTY : set;
    }

    private static Object zadd(Keyspace keys, String[] arguments) {
        int first = 2;
        boolean ifAbsent = false;
        if (RedisCommands.is(arguments[2], "nx")) {
            ifAbsent = true;
            first = 3;
        } else if (List.of("xx", "gt", "lt", "ch", "incr").contains(arguments[2].toLowerCase(Locale.ROOT))) {
            throw RedisCommands.unsupported("the option " + arguments[2] + " of ZADD");
        }
        int rest = arguments.length - first;
        if (rest == 0 || rest % 2 == 1) {
            throw new CommandException(CommandException.SYNTAX);
        }
        double[] scores = new double[rest / 2];
        for (int i = 0; i < scores.length; i++) {
            scores[i] = Numbers.real(arguments[first + 2 * i], CommandException.NOT_A_FLOAT);
        }
        ScoredSet set = keys.scoredSetToWrite(arguments[1]);
        long added = 0;
        for (int i = 0; i < scores.length; i++) {
            String name = arguments[first + 2 * i + 1];
            if (!ifAbsent || set.get(name) == null) {
                added += set.put(name, scores[i]) ? 1 : 0;
            }
        }
        return added;
    }

    private static Object zrem(Keyspace keys, String[] arguments) {
        ScoredSet set = keys.scoredSet(arguments[1]);
        if (set == null) {
            return 0L;
        }
        long gone = 0;
        for (int i = 2; i < arguments.length; i++) {
            gone += set.remove(arguments[i]) ? 1 : 0;
        }
        if (set.size() == 0) {
            keys.delete(arguments[1]);
        }
        return gone;
    }

    private static Object zpopmin(Keyspace keys, String[] arguments) {
        List<Member> members = read(keys, arguments).members();
        if (members.isEmpty()) {
            return List.of();
        }
        Member first = members.get(0);
        zrem(keys, new String[] {"zrem", arguments[1], first.name()});
        return listed(List.of(first), true);
    }

    private static @Nullable Object zscore(Keyspace keys, String[] arguments) {
        Member member = read(keys, arguments).get(arguments[2]);
        return member == null ? null : Numbers.text(member.score());
    }

    private static @Nullable Object zrank(Keyspace keys, String[] arguments) {
        ScoredSet set = read(keys, arguments);
        Member member = set.get(arguments[2]);
        return member == null ? null : (Object) (long) set.rank(member);
    }

    private static Object zrange(Keyspace keys, String[] arguments) {
        boolean scores = false;
        boolean reverse = false;
        for (int i = 4; i < arguments.length; i++) {
            if (RedisCommands.is(arguments[i], "withscores")) {
                scores = true;
            } else if (RedisCommands.is(arguments[i], "rev")) {
                reverse = true;
            } else if (List.of("byscore", "bylex", "limit").contains(arguments[i].toLowerCase(Locale.ROOT))) {
                throw RedisCommands.unsupported("the option " + arguments[i] + " of ZRANGE");
            } else {
                throw new CommandException(CommandException.SYNTAX);
            }
        }
        long start = Numbers.whole(arguments[2]);
        long stop = Numbers.whole(arguments[3]);
        List<Member> members = read(keys, arguments).members();
        if (reverse) {
            members = new ArrayList<>(members);
            Collections.reverse(members);
        }
        int size = members.size();
        int first = (int) Math.max(start < 0 ? start + size : start, 0);
        int last = (int) Math.min(stop < 0 ? stop + size : stop, size - 1L);
        return listed(first > last ? List.of() : members.subList(first, last + 1), scores);
    }

    private static Object filtered(Keyspace keys, String[] arguments, Predicate<Member> range) {
        boolean scores = false;
        long skipped = 0;
        long limit = -1;
        for (int i = 4; i < arguments.length; i++) {
            if (RedisCommands.is(arguments[i], "limit") && i + 2 < arguments.length) {
                skipped = Numbers.whole(arguments[++i]);
                limit = Numbers.whole(arguments[++i]);
            } else if (RedisCommands.is(arguments[i], "withscores")
                    && RedisCommands.is(arguments[0], "zrangebyscore")) {
                scores = true;
            } else {
                throw new CommandException(CommandException.SYNTAX);
            }
        }
        if (skipped < 0) {
            return List.of();
        }
        List<Member> found = read(keys, arguments).members().stream()
                .filter(range)
                .skip(skipped)
                .limit(limit < 0 ? Long.MAX_VALUE : limit)
                .toList();
        return listed(found, scores);
    }

    private static List<String> listed(List<Member> members, boolean scores) {
        List<String> list = new ArrayList<>(members.size() * (scores ? 2 : 1));
        for (Member member : members) {
            list.add(member.name());
            if (scores) {
                list.add(Numbers.text(member.score()));
            }
        }
        return list;
    }

    private static boolean isOpen(String limit) {
        return limit.startsWith("(");
    }

    private static double score(String limit) {
        return Numbers.real(isOpen(limit) ? limit.substring(1) : limit, NO_SCORE_RANGE);
    }

    private static Predicate<Member> from(double limit, boolean open) {
        return member -> open ? member.score() > limit : member.score() >= limit;
    }

    private static Predicate<Member> to(double limit, boolean open) {
        return member -> open ? member.score() < limit : member.score() <= limit;
    }

    /** Accepts members that are greater than a limit, or less if {@code sign} is negative. */
    private static Predicate<Member> lex(String limit, int sign) {
        if (limit.equals("-") || limit.equals("+")) {
            boolean all = limit.equals("-") == (sign > 0);
            return member -> all;
        }
        if (!limit.startsWith("[") && !limit.startsWith("(")) {
            throw new CommandException(NO_LEX_RANGE);
        }
        String end = limit.substring(1);
        int least = isOpen(limit) ? 1 : 0;
        return member -> Integer.signum(member.name().compareTo(end)) * sign >= least;
    }
}
