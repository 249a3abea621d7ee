package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Script;
import io.github.redislocks.state.LockKeys;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Clients that read and write at random, as the protocol says, on a network that delays, repeats and loses requests,
 * replies and messages, with a clock of Redis that is set back at times. Nobody reads while another writes; what a
 * client relies on is in Redis, under its own attempt; only the client itself raises the deadline of its share; and
 * once the network is sound, nobody waits for ever. A failure names its seed.
 */
@Timeout(120)
class ShareFuzzTest {

    private static final int SEEDS = Integer.getInteger("fuzz.seeds", 100);
    private static final int STEPS = 160;
    private static final long LEASE = 9_000;
    private static final long CLAIM = 4_500;
    private static final long HEARTBEAT = 1_500;
    private static final long TIMEOUT = 1_000;
    private static final long SECOND = 1_000_000_000;
    private static final LockKeys KEYS = LockKeys.of("p", "lock");
    private static final Map<String, Script> SCRIPTS = new HashMap<>();

    /** How far one possession has come. */
    private enum State {
        NONE,
        ASKING,
        WAITING,
        VALID
    }

    /** The share of a client, or the hold of its thread that writes. */
    private static final class Possession {

        State state = State.NONE;
        long attempt;
        long deadline;
        long nextBeat;
        long sent;
        long lastToken;
        boolean recalled;

        void valid(long until) {
            state = State.VALID;
            deadline = until;
        }
    }

    private final class Client {

        final String id;
        final InMemoryRedis link;
        final Possession share = new Possession();
        final Possession hold = new Possession();
        final List<String> inbox = new ArrayList<>();
        long attempts;

        Client(String id) {
            this.id = id;
            this.link = server.another();
            link.subscribe(LockKeys.mailbox("p", id), SECOND);
            link.holdMessages();
        }

        String owner() {
            return id + ":1";
        }

        boolean reads() {
            return share.state == State.VALID && now < share.deadline;
        }

        boolean writes() {
            return hold.state == State.VALID && now < hold.deadline;
        }
    }

    private record Late(Client client, String script, List<String> args) {}

    private long now;
    private long setBack;
    private final InMemoryRedis server = new InMemoryRedis(this::redisMicros);
    private final List<Client> clients = new ArrayList<>();
    private final List<Late> late = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private final Map<String, Integer> replies = new TreeMap<>();
    private Random random = new Random(0);
    private boolean faults;
    private boolean flushed;

    private long redisMicros() {
        return 1_790_000_000_000_000L + (now - setBack) * 1_000;
    }

    @AfterEach
    void close() {
        clients.forEach(client -> client.link.close());
        server.close();
    }

    private void restart(int seed) {
        random = new Random(seed);
        clients.forEach(client -> client.link.close());
        clients.clear();
        late.clear();
        history.clear();
        history.add("seed " + seed);
        server.flushAll();
        flushed = false;
        faults = true;
        for (String id : List.of("a", "b", "c")) {
            clients.add(new Client(id));
        }
    }

    @Test
    void randomReadersAndWriters_excludeEachOther_andAllGetTheirTurn() {
        for (int seed = 0; seed < SEEDS; seed++) {
            restart(seed);
            for (int i = 0; i < STEPS; i++) {
                step();
            }
            drain();
        }
        assertThat(replies.keySet())
                .contains(
                        "share OK",
                        "share QUEUED",
                        "share BUSY",
                        "share STALE",
                        "share LATE",
                        "unshare DONE",
                        "unshare GONE",
                        "renew_shares OK",
                        "renew_shares GONE",
                        "downgrade OK",
                        "downgrade GONE",
                        "acquire OK",
                        "acquire QUEUED",
                        "heartbeat GRANTED",
                        "heartbeat QUEUED",
                        "release GRANTED",
                        "release FREED",
                        "leave DONE");
    }

    @Test
    void afterTheDataIsLost_allStillGetTheirTurn() {
        for (int seed = 0; seed < SEEDS / 5; seed++) {
            restart(seed);
            for (int i = 0; i < STEPS; i++) {
                if (random.nextInt(40) == 0) {
                    server.flushAll();
                    flushed = true;
                }
                step();
            }
            drain();
        }
    }

    private void step() {
        Client client = clients.get(random.nextInt(clients.size()));
        switch (random.nextInt(12)) {
            case 0 -> pass(random.nextInt(3_000));
            case 1 -> setBack += random.nextInt(20) == 0 ? random.nextInt(20_000) : 0;
            case 2, 3 -> startShare(client);
            case 4 -> startWrite(client);
            case 5 -> endShare(client);
            case 6 -> endWrite(client);
            case 7 -> renew(client);
            case 8 -> downgrade(client);
            case 9 -> runLate();
            default -> pass(random.nextInt(300));
        }
        routine();
    }

    /**
     * What each client does by itself: reads its messages, sends heartbeats, gives a recalled share up, ends what is
     * lost.
     */
    private void routine() {
        for (Client client : clients) {
            readMail(client);
            lapse(client);
            beat(client);
            if (client.share.state == State.VALID && client.share.recalled && random.nextBoolean()) {
                endShare(client);
            }
        }
        check();
    }

    private void pass(long millis) {
        now += millis;
        history.add("+" + millis);
    }

    // Requests

    /** Sends a request; null if no reply comes. Then the request may have run, or may run later, or both. */
    private @Nullable Reply send(Client client, String script, List<String> args) {
        boolean lost = faults && random.nextInt(10) == 0;
        if (lost && random.nextBoolean()) {
            late.add(new Late(client, script, args));
            if (random.nextBoolean()) {
                history.add(client.id + " lost " + script + args);
                return null;
            }
        }
        Reply reply = run(client, script, args);
        return lost ? null : reply;
    }

    private Reply run(Client client, String script, List<String> args) {
        Map<String, String> before = server.hash(KEYS.lock());
        List<String> keys =
                switch (script) {
                    case "take" -> List.of(KEYS.lock(), KEYS.fence());
                    case "renew" -> List.of(KEYS.lock());
                    case "renew_shares" -> List.of(KEYS.lock(), KEYS.fence(), KEYS.queue(), KEYS.waiters());
                    default -> KEYS.all();
                };
        Script source = SCRIPTS.computeIfAbsent(script, name -> Script.load(Scripts.class, name));
        Reply reply = client.link.run(new Call(source, keys, args), SECOND);
        history.add(client.id + " " + script + args + " = " + reply.code() + reply.values() + " at " + now);
        replies.merge(script + " " + reply.code(), 1, Integer::sum);
        onlyItsClientRaises(client, before, server.hash(KEYS.lock()));
        for (Client other : clients) {
            other.inbox.addAll(other.link.heldMessages());
            other.link.deliverMessages();
            other.link.holdMessages();
        }
        return reply;
    }

    private void onlyItsClientRaises(Client client, Map<String, String> before, Map<String, String> after) {
        boolean phase = "readers".equals(after.get("owner"));
        after.forEach((field, share) -> {
            assertThat(!field.startsWith("s:") || phase)
                    .as("a share in a hold: " + history)
                    .isTrue();
            String earlier = before.get(field);
            if (field.startsWith("s:")
                    && earlier != null
                    && !field.equals("s:" + client.id)
                    && !share.equals(earlier)) {
                assertThat(share.split(" ", 2)[0]).as(history.toString()).isNotEqualTo(earlier.split(" ", 2)[0]);
            }
        });
    }

    private String notAfter() {
        return Long.toString(redisMicros() + TIMEOUT * 1_000);
    }

    private static List<String> words(Object... all) {
        List<String> words = new ArrayList<>();
        for (Object word : all) {
            words.add(word.toString());
        }
        return words;
    }

    // Readers

    private void startShare(Client client) {
        Possession share = client.share;
        if (share.state != State.NONE || client.hold.state == State.VALID) {
            return;
        }
        share.attempt = ++client.attempts;
        share.recalled = false;
        if (random.nextInt(6) == 0) {
            tryShare(client);
        } else {
            share.state = State.ASKING;
            askShare(client, LEASE);
        }
    }

    private void tryShare(Client client) {
        long sent = now;
        Reply reply = send(client, "share", words(client.id, client.share.attempt, LEASE, notAfter(), "", sent, "try"));
        if (reply != null && reply.is("OK")) {
            client.share.valid(sent + LEASE);
            client.share.recalled = reply.number(3) == 1;
        } else if (reply == null) {
            endAttempt(client);
        }
    }

    private void askShare(Client client, long lease) {
        Possession share = client.share;
        share.sent = now;
        share.nextBeat = now + HEARTBEAT;
        List<String> args = words(client.id, share.attempt, lease, notAfter(), CLAIM, now);
        Reply reply = send(client, "share", args);
        if (reply == null) {
            return;
        }
        if (reply.is("OK")) {
            share.valid(share.sent + lease);
            share.recalled |= reply.number(3) == 1;
        } else if (reply.is("QUEUED")) {
            share.state = State.WAITING;
        } else {
            assertThat(reply.code()).as(history.toString()).isEqualTo("LATE");
        }
    }

    private void endAttempt(Client client) {
        long attempt = client.share.attempt;
        client.share.state = State.NONE;
        send(client, "unshare", words(client.id, attempt, redisMicros() + TIMEOUT * 1_000));
    }

    private void endShare(Client client) {
        if (client.share.state != State.NONE) {
            endAttempt(client);
        }
    }

    private void renew(Client client) {
        renewShare(client);
        Possession hold = client.hold;
        long sent = now;
        if (hold.state == State.VALID && now < hold.deadline) {
            Reply reply = send(client, "renew", words(client.owner(), hold.attempt, LEASE));
            if (reply != null && reply.is("OK")) {
                hold.deadline = Math.max(hold.deadline, sent + LEASE);
            } else if (reply != null) {
                assertThat(flushed).as("hold gone: " + history).isTrue();
                hold.state = State.NONE;
            }
        }
    }

    private void renewShare(Client client) {
        Possession share = client.share;
        long sent = now;
        if (share.state != State.VALID || now >= share.deadline) {
            return;
        }
        Reply reply = send(client, "renew_shares", words(client.id, LEASE, share.attempt));
        if (reply != null && reply.is("OK")) {
            share.deadline = Math.max(share.deadline, sent + LEASE);
            share.recalled |= reply.values().contains(1L);
        } else if (reply != null) {
            assertThat(flushed).as("share gone: " + history).isTrue();
            share.state = State.NONE;
        }
    }

    // Writers

    private void startWrite(Client client) {
        Possession hold = client.hold;
        if (hold.state != State.NONE || (client.share.state != State.NONE && client.share.state != State.VALID)) {
            return;
        }
        hold.attempt = ++client.attempts;
        hold.sent = now;
        hold.nextBeat = now + HEARTBEAT;
        hold.state = State.ASKING;
        String mode = random.nextBoolean() ? "barge" : "queue";
        List<String> args = words(client.owner(), hold.attempt, LEASE, notAfter(), CLAIM, 0, mode);
        if (client.share.state == State.VALID) {
            // Nobody is inside: the share ends before the request.
            endAttempt(client);
        }
        granted(client, send(client, "acquire", args), LEASE);
    }

    private void granted(Client client, @Nullable Reply reply, long lease) {
        Possession hold = client.hold;
        if (reply == null) {
            return;
        }
        if (reply.is("OK") || reply.is("GRANTED")) {
            hold.valid(hold.sent + lease);
        } else if (reply.is("QUEUED")) {
            hold.state = State.WAITING;
            hold.lastToken = reply.number(0);
        }
    }

    private void endWrite(Client client) {
        Possession hold = client.hold;
        State was = hold.state;
        hold.state = State.NONE;
        if (was == State.VALID && now < hold.deadline) {
            send(client, "release", words(client.owner(), hold.attempt));
        } else if (was != State.NONE) {
            send(client, "leave", words(client.owner(), hold.attempt, "0", "0", "", "", "", ""));
        }
    }

    private void downgrade(Client client) {
        Possession hold = client.hold;
        Possession share = client.share;
        if (!client.writes() || share.state != State.NONE) {
            return;
        }
        share.attempt = ++client.attempts;
        share.recalled = false;
        hold.state = State.NONE;
        long sent = now;
        Reply reply = send(client, "downgrade", words(client.owner(), hold.attempt, client.id, share.attempt, LEASE));
        if (reply != null && reply.is("OK")) {
            share.valid(sent + LEASE);
            share.recalled = reply.number(3) == 1;
        } else {
            endAttempt(client);
        }
    }

    // What happens by itself

    private void beat(Client client) {
        Possession share = client.share;
        if ((share.state == State.WAITING || share.state == State.ASKING) && now >= share.nextBeat) {
            askShare(client, CLAIM);
        }
        Possession hold = client.hold;
        if ((hold.state == State.WAITING || hold.state == State.ASKING) && now >= hold.nextBeat) {
            hold.sent = now;
            hold.nextBeat = now + HEARTBEAT;
            granted(
                    client,
                    send(client, "heartbeat", words(client.owner(), hold.attempt, notAfter(), 1, CLAIM)),
                    CLAIM);
        }
    }

    private void lapse(Client client) {
        if (client.share.state == State.VALID && now >= client.share.deadline) {
            endAttempt(client);
        }
        if (client.hold.state == State.VALID && now >= client.hold.deadline) {
            client.hold.state = State.NONE;
            send(client, "leave", words(client.owner(), client.hold.attempt, "1", "0", "", "", "", ""));
        }
    }

    private void readMail(Client client) {
        while (!client.inbox.isEmpty() && (!faults || random.nextInt(3) > 0)) {
            String[] parts = client.inbox.remove(0).split(" ");
            if (faults && random.nextInt(8) == 0) {
                continue;
            }
            history.add(client.id + " reads " + List.of(parts) + " at " + now);
            hear(client, Long.parseLong(parts[0]), parts);
        }
    }

    private void hear(Client client, long attempt, String[] parts) {
        Possession share = client.share;
        Possession hold = client.hold;
        boolean asks = share.state == State.WAITING || share.state == State.ASKING;
        if (parts[1].equals("share")) {
            long until = Long.parseLong(parts[3]) + CLAIM;
            if (attempt == share.attempt && asks && now < until) {
                share.valid(until);
                share.recalled |= parts[4].equals("1");
            }
        } else if (parts[1].equals("recall")) {
            share.recalled |= attempt == share.attempt;
        } else if (attempt == hold.attempt && hold.state == State.WAITING) {
            long until = hold.sent + CLAIM;
            if (Long.parseLong(parts[1]) > hold.lastToken && now < until) {
                hold.valid(until);
            }
        }
    }

    private void runLate() {
        if (!late.isEmpty()) {
            Late one = late.remove(random.nextInt(late.size()));
            history.add("late:");
            run(one.client, one.script, one.args);
        }
    }

    // Checks

    private void check() {
        if (flushed) {
            return;
        }
        Map<String, String> hash = server.hash(KEYS.lock());
        for (Client client : clients) {
            if (client.writes()) {
                assertThat(hash.get("owner")).as("writer " + history).isEqualTo(client.owner());
                assertThat(hash.get("attempt")).as("writer " + history).isEqualTo("" + client.hold.attempt);
                assertThat(clients).as("readers with a writer " + history).noneMatch(Client::reads);
            }
            if (client.reads()) {
                assertThat(hash.get("s:" + client.id))
                        .as("share of " + client.id + " " + history)
                        .startsWith(client.share.attempt + " ");
            }
        }
    }

    /** The network is sound now: everybody who waits gets what it waits for, holds it for a while, and ends it. */
    private void drain() {
        faults = false;
        while (!late.isEmpty()) {
            runLate();
        }
        for (int round = 0; round < 60; round++) {
            pass(HEARTBEAT / 3);
            routine();
            for (Client client : clients) {
                if (client.share.state == State.VALID && round % 4 == 0) {
                    endShare(client);
                }
                if (client.hold.state == State.VALID && round % 4 == 1) {
                    endWrite(client);
                }
            }
            check();
        }
        for (Client client : clients) {
            assertThat(client.share.state).as("share of " + client.id + history).isEqualTo(State.NONE);
            assertThat(client.hold.state).as("hold of " + client.id + history).isEqualTo(State.NONE);
        }
        pass(LEASE + (flushed ? LEASE : 0));
        assertThat(server.hash(KEYS.shares())).as(history.toString()).isEmpty();
    }
}
