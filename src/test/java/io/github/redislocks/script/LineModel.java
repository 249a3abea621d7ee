package io.github.redislocks.script;

import io.github.redislocks.redis.Reply;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The behaviour that the scripts of one lock should have, said once more, in Java and without their short forms: each
 * call's reply, what is then in Redis, and what was told to whom. How long a line lasts in which nobody moves is not
 * said here.
 */
final class LineModel {

    private static final String NONE = "";
    private static final String NOBODY = "nobody";

    /** The owner of the lock. The hash calls its mark a signal. */
    static final class Held {

        final String owner;
        final String attempt;
        long holds;
        final long token;
        boolean lost;

        @Nullable
        String mark;

        /** The owner and attempt that released the lock which nobody has now. */
        @Nullable
        String kept;

        long untilMillis;

        private Held(String owner, String attempt, long holds, long token) {
            this.owner = owner;
            this.attempt = attempt;
            this.holds = holds;
            this.token = token;
        }

        boolean isNobody() {
            return kept != null;
        }

        boolean is(String otherOwner, String otherAttempt) {
            return owner.equals(otherOwner) && attempt.equals(otherAttempt);
        }
    }

    /** The text of a place: in a Condition with an order in it, signalled with the Condition alone. */
    record Place(long deadline, long claim, long holds, String condition, String order) {

        private String text() {
            String in = condition.isEmpty() ? NONE : " " + condition + (order.isEmpty() ? NONE : " " + order);
            return deadline + " " + claim + " " + holds + in;
        }
    }

    /** The last token, and the mark behind it. */
    record Fence(long token, String mark) {

        private String text() {
            return token + mark;
        }
    }

    /** The one to serve before others, a thread of the client that calls; none without an owner. */
    record Successor(String owner, String attempt, String lease, String claim, boolean keep) {

        static final Successor NOBODY = new Successor(NONE, NONE, NONE, NONE, false);

        private static Successor of(List<String> args, int from) {
            return new Successor(
                    args.get(from),
                    args.get(from + 1),
                    args.get(from + 2),
                    args.get(from + 3),
                    args.size() > from + 4 && args.get(from + 4).equals("1"));
        }

        private boolean exists() {
            return !owner.isEmpty();
        }

        private String place() {
            return owner + ":" + attempt;
        }
    }

    /** A waiter in a Condition. */
    record Member(String condition, String order, String place) {

        static Member of(String text) {
            int first = text.indexOf(' ');
            int last = text.lastIndexOf(' ');
            return new Member(text.substring(0, first), text.substring(first + 1, last), text.substring(last + 1));
        }
    }

    private record Winner(String place, Held held) {}

    long now;

    @Nullable
    Held held;

    @Nullable
    Fence fence;

    final Map<String, Long> queue = new TreeMap<>();
    final Map<String, Place> places = new TreeMap<>();
    final TreeSet<String> conditions = new TreeSet<>();
    /** The clients that hear. */
    final Set<String> listening = new HashSet<>();

    final List<String> messages = new ArrayList<>();
    boolean clustered;

    /** Moves the clock. */
    void at(long micros) {
        now = micros;
        if (held != null && held.untilMillis < now / 1_000) {
            held = null;
        }
    }

    /** The answer of a script. */
    Reply run(String script, List<String> args) {
        return switch (script) {
            case "take" -> take(args);
            case "acquire" -> acquire(args);
            case "heartbeat" -> heartbeat(args);
            case "free" -> free(args);
            case "release" -> release(args);
            case "release_after" -> releaseAfter(args);
            case "leave" -> leave(args);
            case "await" -> await(args);
            case "signal" -> signal(args);
            case "rejoin" -> rejoin(args);
            case "force" -> force(args);
            case "renew" -> renew(args);
            case "renew_all" ->
                renew(List.of(args.get(1), args.get(2), args.get(0))).is("GONE")
                        ? reply("GONE", 0L)
                        : waited() ? reply("GONE", 1L) : reply("OK", 1L);
            case "reenter" -> reenter(args);
            case "release_inner" -> releaseInner(args);
            case "held" -> mine(args) ? reply("OK", 1L) : reply("GONE");
            case "locked" ->
                held == null ? reply("FREE") : reply("LOCKED", held.owner, held.attempt, Long.toString(held.token));
            case "inspect" -> inspect(number(args.get(0)));
            default -> throw new IllegalArgumentException(script);
        };
    }

    private static Reply reply(String code, Object... values) {
        return new Reply(code, List.of(values));
    }

    private boolean mine(List<String> args) {
        return held != null && held.is(args.get(0), args.get(1));
    }

    private Reply take(List<String> args) {
        if (isLate(args.get(3))) {
            return reply("LATE", now);
        }
        boolean ready = fence != null && fence.mark.equals("+");
        if (ready || (fence == null && held == null)) {
            boolean ahead = fence != null && fence.token >= now;
            long token = own(args.get(0), args.get(1), 1, args.get(2)).token;
            return ahead ? reply("OK", token, 0L, now) : reply("OK", token);
        }
        if (held != null && !held.owner.equals(args.get(0))) {
            return reply("BUSY", left(), now);
        }
        return reply("LINE", now);
    }

    private boolean isLate(String notAfter) {
        return now > Long.parseLong(notAfter);
    }

    private Reply acquire(List<String> args) {
        String owner = args.get(0);
        String attempt = args.get(1);
        String lease = args.get(2);
        String claim = args.get(4);
        String place = owner + ":" + attempt;
        if (isLate(args.get(3))) {
            return reply("LATE", now);
        }
        Held before = held;
        if (before != null && (!before.owner.equals(owner) || number(before.attempt) > number(attempt))) {
            if (claim.isEmpty()) {
                return reply("BUSY", left(), now);
            }
            lineUp(place, 1, claim);
            return queued();
        }
        if (before != null && before.attempt.equals(attempt)) {
            extend(lease);
            return served("OK", before, now);
        }
        if (before != null) {
            abandon(number(before.attempt) <= number(args.get(5)));
        }
        if (args.get(6).equals("queue") && !queue.isEmpty()) {
            if (!claim.isEmpty()) {
                lineUp(place, 1, claim);
            }
            Winner winner = grant(place, lease);
            if (winner != null && winner.place.equals(place)) {
                return served("OK", winner.held, now);
            }
            if (winner != null && !claim.isEmpty()) {
                return queued();
            }
            if (winner != null || !queue.isEmpty()) {
                if (before != null && winner == null) {
                    remember();
                }
                return reply("BUSY", 0L, now);
            }
        } else if (!queue.isEmpty() || !conditions.isEmpty()) {
            drop(place);
        }
        return served("OK", own(owner, attempt, 1, lease), now);
    }

    private static long number(String attempt) {
        return Long.parseLong(attempt);
    }

    private static Reply served(String code, Held held, long... more) {
        List<Object> values = new ArrayList<>(List.of(held.token, held.lost ? 1L : 0L));
        for (long value : more) {
            values.add(value);
        }
        return new Reply(code, values);
    }

    private Reply queued() {
        return reply("QUEUED", fence == null ? 0L : fence.token, left(), now);
    }

    private long left() {
        return held == null ? -2 : held.untilMillis - now / 1_000;
    }

    private Reply heartbeat(List<String> args) {
        String place = args.get(0) + ":" + args.get(1);
        String claim = args.get(4);
        if (isLate(args.get(2))) {
            return reply("LATE", now);
        }
        if (mine(args)) {
            extend(claim);
            return served("GRANTED", held, now);
        }
        Place known = places.get(place);
        if (known != null && !known.order.isEmpty()) {
            // Without a fence nobody would see that somebody waits.
            if (held != null || (fence != null && !fence.mark.isEmpty())) {
                places.put(place, place(args.get(3), claim, known.condition, known.order));
                return reply("WAITING", fence == null ? 0L : fence.token, now);
            }
            drop(place);
        }
        return lineUpAndAsk(place, args.get(3), claim);
    }

    private Place place(String holds, String claim, String condition, String order) {
        return new Place(now + number(claim) * 1_000, number(claim), number(holds), condition, order);
    }

    private Reply lineUpAndAsk(String place, String holds, String claim) {
        lineUp(place, number(holds), claim);
        if (held == null) {
            Winner winner = grant(place, claim);
            if (winner != null && winner.place.equals(place)) {
                return served("GRANTED", winner.held, now);
            }
        }
        return queued();
    }

    private Reply rejoin(List<String> args) {
        String place = args.get(0) + ":" + args.get(1);
        if (isLate(args.get(2))) {
            return reply("LATE", now);
        }
        if (mine(args)) {
            if (held.mark != null) {
                return reply("SIGNALLED", now);
            }
            extend(args.get(4));
            return served("GRANTED", held, now);
        }
        Place known = places.get(place);
        if (known != null && !known.condition.isEmpty()) {
            if (known.order.isEmpty()) {
                return reply("SIGNALLED", now);
            }
            drop(place);
        }
        return lineUpAndAsk(place, args.get(3), args.get(4));
    }

    /** Whether somebody waits decides; the hash may say so though nobody does any more. */
    private Reply free(List<String> args) {
        if (!mine(args) || waited()) {
            return reply("LINE");
        }
        end("+");
        remember();
        return reply("OK", 1L);
    }

    /** Whether the hash says that somebody waits, by which nothing but {@code free} is decided. */
    boolean saysWaited;

    private boolean waited() {
        return saysWaited;
    }

    /** Ends the hold; marked if it was released. */
    private void end(String mark) {
        fence = new Fence(held.token, mark);
        held = null;
    }

    private Reply release(List<String> args) {
        Successor successor = args.size() > 2 ? Successor.of(args, 2) : Successor.NOBODY;
        if (mine(args)) {
            end("+");
            return passOn(successor);
        }
        Reply before = successor.exists() ? doneBefore(successor) : null;
        return before == null ? reply("GONE") : before;
    }

    private Reply releaseAfter(List<String> args) {
        String name = args.get(0) + ":" + args.get(1);
        if (held != null && name.equals(held.kept)) {
            return reply("KEPT", left());
        }
        if (!mine(args)) {
            return reply("GONE");
        }
        long since = number(args.get(2));
        long left = Math.min(since, since - Math.floorDiv(now - held.token, 1_000));
        if (left < 1) {
            end("+");
            return passOn(Successor.NOBODY);
        }
        Held nobody = new Held(NOBODY, "0", 0, held.token);
        nobody.kept = name;
        nobody.untilMillis = now / 1_000 + left;
        end("*");
        held = nobody;
        for (String place : order().stream().limit(16).toList()) {
            boolean unused = told(place, "0", "0");
        }
        return reply("KEPT", left);
    }

    private Reply leave(List<String> args) {
        String place = args.get(0) + ":" + args.get(1);
        Successor successor = Successor.of(args, 4);
        Long score = queue.get(place);
        drop(place);
        if (score != null
                && successor.exists()
                && !successor.claim.isEmpty()
                && !places.containsKey(successor.place())) {
            queue.put(successor.place(), score);
            places.put(successor.place(), place("1", successor.claim, NONE, NONE));
        }
        Reply reply = null;
        if (mine(args)) {
            abandon(args.get(2).equals("1"));
            reply = passOn(successor);
        } else if (successor.exists()) {
            reply = doneBefore(successor);
        }
        long left = number(args.get(3)) - now;
        List<Object> values = new ArrayList<>();
        String code = "DONE";
        if (reply != null && (reply.is("SUCCEEDED") || reply.is("QUEUED"))) {
            code = reply.code();
            values.addAll(reply.values());
        }
        values.add(left < 0 ? 0 : left / 1_000 + 1);
        return new Reply(code, values);
    }

    private Reply await(List<String> args) {
        String owner = args.get(0);
        String place = owner + ":" + args.get(2);
        String id = args.get(4);
        Successor successor = Successor.of(args, 7);
        if (isLate(args.get(3))) {
            return reply("LATE", now);
        }
        if (mine(args)) {
            long order = now;
            for (String member : conditions) {
                if (Member.of(member).condition.equals(id)) {
                    order = Math.max(order, Long.parseLong(Member.of(member).order) + 1);
                }
            }
            String text = "%016d".formatted(order);
            conditions.add(id + " " + text + " " + place);
            places.put(place, place(args.get(5), args.get(6), id, text));
            end("+");
            return passOn(successor);
        }
        if (places.containsKey(place) || (held != null && held.is(owner, args.get(2)))) {
            Reply before = successor.exists() ? doneBefore(successor) : null;
            return before == null ? reply("WAITING") : before;
        }
        return reply("GONE");
    }

    private Reply signal(List<String> args) {
        if (!mine(args)) {
            return reply("GONE");
        }
        List<Object> moved = new ArrayList<>();
        if (!args.get(2).equals(held.mark)) {
            held.mark = args.get(2);
            String place;
            do {
                place = signal(args.get(3));
                if (place != null) {
                    moved.add(place);
                }
            } while (place != null && args.get(4).equals("1"));
        }
        return new Reply("SIGNALLED", moved);
    }

    private Reply force(List<String> args) {
        if (held == null || held.token != number(args.get(0))) {
            return reply("GONE");
        }
        Held forced = held;
        end(forced.isNobody() ? "+" : NONE);
        Reply reply = passOn(Successor.NOBODY);
        if (!forced.isNobody() && listening.contains(forced.owner.substring(0, forced.owner.lastIndexOf(':')))) {
            messages.add(forced.attempt + " 0 " + forced.token);
        }
        return reply;
    }

    private Reply renew(List<String> args) {
        if (!mine(args)) {
            return reply("GONE");
        }
        extend(args.get(2));
        return waited() ? reply("OK", 1L) : reply("OK");
    }

    private Reply reenter(List<String> args) {
        if (!mine(args)) {
            return reply("GONE");
        }
        extend(args.get(3));
        if (held.holds == number(args.get(2))) {
            held.holds++;
        }
        return reply("OK", 1L);
    }

    private Reply releaseInner(List<String> args) {
        if (!mine(args)) {
            return reply("GONE");
        }
        if (held.holds == number(args.get(2)) && held.holds > 1) {
            held.holds--;
        }
        return reply("OK", 1L);
    }

    private Reply inspect(long limit) {
        List<Object> shown = new ArrayList<>(
                held == null ? List.of(NONE, 0L, 0L, 0L) : List.of(held.owner, held.holds, held.token, left()));
        shown.add((long) queue.size());
        shown.add(Math.min(queue.size(), limit));
        order().stream().limit(limit).forEach(place -> {
            shown.add(owner(place));
            shown.add(Math.max(0, now - queue.get(place)));
        });
        conditions.stream().limit(limit).map(Member::of).forEach(member -> {
            shown.add(member.condition);
            shown.add(owner(member.place));
            shown.add(Math.max(0, now - Long.parseLong(member.order)));
        });
        return new Reply(held == null ? "FREE" : held.isNobody() ? "KEPT" : "HELD", shown);
    }

    private static String owner(String place) {
        return place.substring(0, place.lastIndexOf(':'));
    }

    private void extend(String lease) {
        held.untilMillis = Math.max(held.untilMillis, now / 1_000 + number(lease));
    }

    /** Gives a lock that has just been freed to the successor, to the first that can be told, or to nobody. */
    private Reply passOn(Successor successor) {
        Winner winner = successor.exists() && successor.keep ? null : grant(successor.place(), successor.lease);
        if (winner == null && successor.exists()) {
            drop(successor.place());
            winner = new Winner(successor.place(), own(successor.owner, successor.attempt, 1, successor.lease));
        }
        if (winner == null) {
            return reply("FREED", remember() ? 1L : 0L);
        }
        if (winner.place.equals(successor.place())) {
            return served("SUCCEEDED", winner.held);
        }
        if (successor.exists() && !successor.claim.isEmpty()) {
            lineUp(successor.place(), 1, successor.claim);
            return queued();
        }
        return reply("GRANTED");
    }

    private @Nullable Reply doneBefore(Successor successor) {
        if (held != null && held.is(successor.owner, successor.attempt)) {
            extend(successor.lease);
            return served("SUCCEEDED", held);
        }
        return places.containsKey(successor.place()) ? queued() : null;
    }

    /** Whether anybody stands in a line of a lock that is free: then nobody may take the fence's word. */
    private boolean remember() {
        boolean lined = !queue.isEmpty() || !conditions.isEmpty();
        if (lined && fence.mark.equals("+")) {
            fence = new Fence(fence.token, "-");
        }
        return lined;
    }

    /** Ends a hold that was not released: no loss if nobody had it, and then the signal that led to it goes on. */
    private void abandon(boolean returned) {
        Held gone = held;
        boolean good = !returned && !gone.lost;
        end(good ? "+" : NONE);
        if (good && gone.mark != null && gone.mark.startsWith("@")) {
            signal(gone.mark.substring(1));
        }
    }

    private Held own(String owner, String attempt, long holds, String lease) {
        boolean lost = fence != null && fence.mark.isEmpty();
        if (lost) {
            wake();
        }
        held = new Held(owner, attempt, holds, fence == null ? now : Math.max(now, fence.token + 1));
        held.lost = lost;
        held.untilMillis = now / 1_000 + number(lease);
        fence = new Fence(held.token, NONE);
        return held;
    }

    private void wake() {
        for (String member : conditions) {
            String name = Member.of(member).place;
            Place place = places.get(name);
            if (place != null && place.deadline >= now) {
                enqueue(name, place.holds, place.claim, NONE);
            } else {
                places.remove(name);
            }
        }
        conditions.clear();
    }

    private void enqueue(String name, long holds, long claim, String condition) {
        queue.put(name, tail());
        places.put(name, place(Long.toString(holds), Long.toString(claim), condition, NONE));
    }

    private long tail() {
        return Math.max(
                now, queue.values().stream().mapToLong(score -> score + 1).max().orElse(0));
    }

    private List<String> order() {
        return queue.keySet().stream()
                .sorted(Comparator.<String, Long>comparing(queue::get).thenComparing(name -> name))
                .toList();
    }

    private @Nullable String signal(String id) {
        while (true) {
            String member = conditions.ceiling(id + " ");
            if (member == null || !member.startsWith(id + " ")) {
                return null;
            }
            conditions.remove(member);
            String name = Member.of(member).place;
            Place place = places.get(name);
            if (place != null && place.deadline >= now) {
                enqueue(name, place.holds, place.claim, id);
                return name;
            }
            places.remove(name);
        }
    }

    private void drop(String name) {
        Place place = places.remove(name);
        queue.remove(name);
        if (place == null || place.condition.isEmpty()) {
            return;
        }
        if (place.order.isEmpty()) {
            signal(place.condition);
        } else {
            conditions.remove(place.condition + " " + place.order + " " + name);
        }
    }

    private void lineUp(String name, long holds, String claim) {
        Place known = places.get(name);
        Long score = queue.get(name);
        queue.put(name, score == null ? tail() : score);
        String condition = score == null || known == null ? NONE : known.condition;
        places.put(name, place(Long.toString(holds), claim, condition, NONE));
    }

    private @Nullable Winner grant(String asker, String lease) {
        Set<String> passed = new HashSet<>();
        while (true) {
            String name = order().stream()
                    .filter(place -> !passed.contains(place))
                    .findFirst()
                    .orElse(null);
            if (name == null) {
                return null;
            }
            Place place = places.get(name);
            if (place == null || place.deadline < now) {
                drop(name);
            } else if (name.equals(asker) || told(name)) {
                return new Winner(name, serve(name, place, name.equals(asker) ? lease : Long.toString(place.claim)));
            } else {
                passed.add(name);
                if (!place.condition.isEmpty()) {
                    // The waiter may be dead: its signal goes to the next.
                    places.put(name, new Place(place.deadline, place.claim, place.holds, NONE, NONE));
                    signal(place.condition);
                }
            }
        }
    }

    private boolean told(String name) {
        long token = fence == null ? now : Math.max(now, fence.token + 1);
        return told(name, Long.toString(token), fence != null && fence.mark.isEmpty() ? "1" : "0");
    }

    private boolean told(String name, String token, String lost) {
        int end = name.lastIndexOf(':');
        String client = name.substring(0, name.lastIndexOf(':', end - 1));
        boolean hears = listening.contains(client);
        if (hears) {
            messages.add(name.substring(end + 1) + " " + token + " " + lost);
        }
        return hears || clustered;
    }

    private Held serve(String name, Place place, String lease) {
        queue.remove(name);
        places.remove(name);
        int end = name.lastIndexOf(':');
        Held served = own(name.substring(0, end), name.substring(end + 1), place.holds, lease);
        if (!place.condition.isEmpty()) {
            served.mark = "@" + place.condition;
        }
        return served;
    }

    /** The hash of the lock, without what it says of those who wait. */
    Map<String, String> hash() {
        Map<String, String> hash = new LinkedHashMap<>();
        if (held != null) {
            hash.put("owner", held.owner);
            hash.put("attempt", held.attempt);
            hash.put("holds", Long.toString(held.holds));
            hash.put("token", Long.toString(held.token));
            if (held.lost) {
                hash.put("lost", "1");
            }
            if (held.mark != null) {
                hash.put("signal", held.mark);
            }
            if (held.kept != null) {
                hash.put("kept", held.kept);
            }
        }
        return hash;
    }

    Map<String, String> texts() {
        Map<String, String> texts = new TreeMap<>();
        places.forEach((name, place) -> texts.put(name, place.text()));
        return texts;
    }

    @Nullable
    String fenceText() {
        return fence == null ? null : fence.text();
    }

    long pttl() {
        return left();
    }
}
