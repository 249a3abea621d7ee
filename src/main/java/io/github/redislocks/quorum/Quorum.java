package io.github.redislocks.quorum;

import io.github.redislocks.concurrent.Loggers;
import io.github.redislocks.concurrent.StackSpace;
import io.github.redislocks.concurrent.Threads;
import io.github.redislocks.redis.Call;
import io.github.redislocks.redis.Outcome;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.RedisException;
import io.github.redislocks.redis.Reply;
import io.github.redislocks.redis.Request;
import io.github.redislocks.state.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Independent masters that look like one Redis. Each call goes to all masters at once, and is answered when a majority
 * has answered. Only this package knows that there are several servers.
 *
 * <p>Votes that do not win a majority are withdrawn. If several clients have got votes and none a majority, the call
 * asks again after a random pause.
 */
public final class Quorum implements Redis {

    /** The most rounds of one call. A further round follows if no client got a majority. */
    private static final int ROUNDS = 8;

    private static final long WARN_AGAIN_NANOS = 10_000_000_000L;
    public final List<QuorumNode> nodes = new ArrayList<>();
    private final QuorumCalls calls;
    private final VoteState.Register candidacies;
    private final RetryTimer timer;
    private final long timeoutNanos;
    private final long restartDelayMillis;
    private final String address;
    private final LongConsumer pause;
    /** The latest subscription. A client has one at a time. */
    private volatile @Nullable QuorumSubscription subscription;
    /** When the last warning about masters that have just started was logged; 0 if never. */
    private final AtomicLong warnedNanos = new AtomicLong();

    /**
     * @param masters an odd number of masters, three or more, none of which is a replica of another
     * @param restartDelayMillis how long a server must have run before it votes
     */
    public Quorum(List<? extends Redis> masters, Settings settings, long restartDelayMillis) {
        this(masters, settings, restartDelayMillis, Threads.DAEMONS, LockSupport::parkNanos);
    }

    /**
     * Makes a quorum that uses the threads of a client.
     *
     * @param pause how a thread that waits for answers pauses, for the given number of nanoseconds at most
     */
    public Quorum(
            List<? extends Redis> masters,
            Settings settings,
            long restartDelayMillis,
            Threads threads,
            LongConsumer pause) {
        this.pause = pause;
        timer = new RetryTimer(threads);
        timeoutNanos = settings.commandTimeoutNanos();
        this.restartDelayMillis = restartDelayMillis;
        candidacies = new VoteState.Register(memory(settings, restartDelayMillis));
        calls = new QuorumCalls(masters.size());
        ConcurrentMap<String, Redis> known = new ConcurrentHashMap<>();
        for (Redis master : masters) {
            QuorumServer server =
                    new QuorumServer(master, settings.keyPrefix(), restartDelayMillis, settings.leaseMillis(), known);
            nodes.add(new QuorumNode(nodes.size(), server, settings, calls, timer, threads));
        }
        address = masters.stream().map(Redis::address).collect(Collectors.joining(", ", "a quorum of ", ""));
    }

    /** How long a hold lasts without a renewal, at most. */
    static Duration memory(Settings settings, long restartDelayMillis) {
        return restartDelayMillis == 0
                ? Settings.MAX_LEASE
                : Duration.ofMillis(Math.max(restartDelayMillis, 2 * settings.leaseMillis()));
    }

    /** A call of the client until the call has its answer. */
    private final class Inquiry {

        private final Call call;
        private final @Nullable VoteState candidacy;
        private final @Nullable VoteState holder;
        private @Nullable Poll poll;
        private @Nullable Outcome outcome;
        private boolean split;

        /**
         * Makes an inquiry. Waits while another call of the same attempt asks for votes, until {@code turnUntilNanos}
         * at most.
         */
        Inquiry(Call call, long turnUntilNanos) {
            // Check the stack first: a StackOverflowError must not interrupt a change of the register of attempts or of
            // a node's batch.
            StackSpace.ensure();
            this.call = call;
            holder = candidacies.holder(call);
            candidacies.forgetOver(call);
            VoteState wanted = candidacies.of(call);
            candidacy = wanted != null && wanted.enter(turnUntilNanos) ? wanted : null;
        }

        /** Makes the poll of the next round. */
        void start(long token) {
            split = false;
            if (call.request() instanceof Request.Wanting wanting) {
                if (candidacy != null) {
                    poll = candidacy.poll(calls, wanting, token);
                    return;
                }
                // The attempt is over, or another call of the attempt is asking for votes.
                outcome = wanting instanceof Request.Acquire
                        ? Outcome.of(unanswered("an earlier question of this attempt has not been answered"))
                        : Poll.UNASKED;
            } else if (call.request() instanceof Request.Keeping kept && holder != null) {
                poll = holder.keeping(calls, call, kept);
            } else {
                poll = calls.poll(call);
            }
        }

        void accept(Poll asked, Poll.Result result) {
            poll = result.next();
            if (poll == null) {
                split = result.split();
                if (result.outcome().failure() instanceof RedisException.Unready unready) {
                    warn(unready);
                }
                Outcome last = result.outcome().reply() == null || asked.isAnswered() ? result.outcome() : Poll.UNASKED;
                outcome = candidacy != null && call.request() instanceof Request.Wanting wanting
                        ? candidacy.answer(wanting, last)
                        : last;
            }
        }

        /** The answer to the call. */
        Outcome result() {
            Outcome last = outcome == null ? Outcome.of(unanswered(call + " got no result")) : outcome;
            if (call.request() == Request.Plain.CHECK && last.reply() != null) {
                last = checked();
            }
            if (candidacy != null) {
                candidacies.forgetBusy(call, last);
            }
            return last;
        }

        /** Lets the next call of the same attempt ask for votes. */
        void exit() {
            if (candidacy != null) {
                candidacy.exit();
            }
        }
    }

    /** Logs that masters give no votes yet, since they have just started: that is why lock() waits. */
    private void warn(RedisException.Unready unready) {
        long now = System.nanoTime();
        long last = warnedNanos.get();
        if ((last == 0 || now - last > WARN_AGAIN_NANOS) && warnedNanos.compareAndSet(last, now)) {
            Loggers.CONNECTION.warn("At {} {}: lock() waits for them", address, unready.getMessage());
        }
    }

    private static RedisException unanswered(String message) {
        return new RedisException.Unanswered(message, false, null);
    }

    @Override
    public Reply run(Call call, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        Inquiry inquiry = new Inquiry(call, deadline);
        Outcome outcome;
        try {
            int round = 1;
            do {
                inquiry.start(token());
                decide(List.of(inquiry), deadline, false);
            } while (inquiry.split && round < ROUNDS && pause(round++, deadline));
            outcome = inquiry.result();
        } finally {
            inquiry.exit();
        }
        if (outcome.reply() == null) {
            throw outcome.failure() == null ? unanswered("no outcome") : outcome.failure();
        }
        return outcome.reply();
    }

    @Override
    public List<Outcome> runAll(List<Call> batch, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        List<Inquiry> inquiries = new ArrayList<>(batch.size());
        try {
            for (Call call : batch) {
                // Do not wait for another call of the attempt: that would delay all calls of the batch.
                inquiries.add(new Inquiry(call, System.nanoTime()));
            }
            long token = token();
            for (Inquiry inquiry : inquiries) {
                inquiry.start(token);
            }
            decide(inquiries, deadline, true);
            return inquiries.stream().map(Inquiry::result).toList();
        } finally {
            for (int i = 0; i < inquiries.size(); i++) {
                inquiries.get(i).exit();
            }
        }
    }

    /**
     * Asks until each inquiry has an answer, or until {@code deadline}. In the foreground, the calling thread may read
     * the answers while it waits; in the background, the nodes' threads read them.
     */
    private void decide(List<Inquiry> inquiries, long deadline, boolean background) {
        LongConsumer wait = background ? LockSupport::parkNanos : pause;
        List<Poll> after = new ArrayList<>();
        List<Inquiry> open = inquiries;
        while (true) {
            open = open.stream().filter(inquiry -> inquiry.poll != null).toList();
            if (open.isEmpty()) {
                break;
            }
            ask(open.stream().map(inquiry -> inquiry.poll).toList(), deadline, background);
            for (Inquiry inquiry : open) {
                Poll poll = inquiry.poll;
                if (poll != null) {
                    Poll.Result result = poll.await(deadline, wait);
                    inquiry.accept(poll, result);
                    if (result.after() != null) {
                        after.add(result.after());
                    }
                }
            }
        }
        if (!after.isEmpty()) {
            ask(after, System.nanoTime() + timeoutNanos, background);
        }
    }

    private void ask(List<? extends Poll> polls, long deadline, boolean background) {
        for (int i = 0; i < nodes.size(); i++) {
            nodes.get(i).ask(polls, deadline, background);
        }
    }

    /**
     * Waits for a random time that grows with each round; returns false if there is not enough time left. An interrupt
     * does not end the wait; its flag is set again.
     */
    private static boolean pause(int round, long deadline) {
        long end = System.nanoTime() + ThreadLocalRandom.current().nextLong(1_000_000L << round);
        if (end - deadline >= 0) {
            return false;
        }
        boolean interrupted = false;
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    /** The number of attempts of which this client or its nodes keep a record. */
    public int remembered() {
        return candidacies.size()
                + nodes.stream().mapToInt(QuorumNode::remembered).sum();
    }

    /** The token to ask for: the time of the node whose clock is furthest ahead. */
    private long token() {
        long now = System.nanoTime();
        return nodes.stream()
                .mapToLong(node -> node.time.notAfterMicros(now, 0))
                .max()
                .orElse(0);
    }

    /** The answer to a check of the server: the first objection of any node to its server, or CHECKED. */
    private Outcome checked() {
        for (QuorumNode node : nodes) {
            String objection = node.server.objection();
            if (objection != null) {
                return Outcome.of(new RedisException.Refused(objection, null));
            }
        }
        return Outcome.of(
                new Reply("CHECKED", List.of("", "master", "", "noeviction", "", "", "", "", "", "", QuorumCalls.NOW)));
    }

    @Override
    public Subscription subscribe(String channel, long timeoutNanos) {
        QuorumSubscription made = QuorumSubscription.open(nodes, channel, timeoutNanos);
        subscription = made;
        return made;
    }

    /** Sends the message to all nodes without waiting, so that the message arrives even if some nodes lose it. */
    @Override
    public void publish(String channel, String message, long timeoutNanos) {
        QuorumSubscription own = subscription;
        for (QuorumNode node : nodes) {
            node.publish(
                    channel, message, timeoutNanos, own != null && own.isTo(channel) ? own.listener(node.index) : null);
        }
    }

    @Override
    public List<? extends Redis> servers() {
        return nodes.stream().map(node -> node.redis).toList();
    }

    @Override
    public int connections() {
        return nodes.stream().mapToInt(node -> node.redis.connections()).sum();
    }

    @Override
    public boolean hasLines() {
        return false;
    }

    /**
     * The restart delay. No hold may last longer: a server that has forgotten its votes gives new ones after that time.
     */
    @Override
    public long memoryMillis() {
        return restartDelayMillis == 0 ? Long.MAX_VALUE : restartDelayMillis;
    }

    @Override
    public String address() {
        return address;
    }

    @Override
    public void close() {
        timer.close();
        long deadline = System.nanoTime() + timeoutNanos;
        // Wait for the timer's current task, which may pass withdrawals to the nodes. The nodes send them below.
        timer.awaitEnd(Duration.ofNanos(timeoutNanos));
        // Shut down all nodes before waiting for one of them, so that a node that hangs does not delay the others.
        nodes.forEach(node -> node.shutDown(deadline));
        nodes.forEach(node -> node.close(deadline));
    }
}
