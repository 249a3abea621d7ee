package io.github.redislocks.client;

import io.github.redislocks.concurrent.Clock;
import io.github.redislocks.engine.AsyncAcquisitions;
import io.github.redislocks.engine.LockEngine;
import io.github.redislocks.health.MonitoredRedis;
import io.github.redislocks.lease.Losses;
import io.github.redislocks.lease.Renewals;
import io.github.redislocks.redis.Redis;
import io.github.redislocks.redis.ServerTimes;
import io.github.redislocks.residency.Residences;
import io.github.redislocks.state.FailoverEpoch;
import io.github.redislocks.state.Holds;
import io.github.redislocks.state.Owners;
import io.github.redislocks.state.Settings;
import io.github.redislocks.waiting.Acquisitions;
import io.github.redislocks.waiting.Attempts;
import io.github.redislocks.waiting.Handoff;
import io.github.redislocks.waiting.Heartbeats;
import io.github.redislocks.waiting.LocalQueue;
import io.github.redislocks.waiting.Mailbox;
import io.github.redislocks.waiting.Settlements;
import io.github.redislocks.watchdog.Watchdog;

/** The parts of a client, for tests that ask what it remembers, or that test a part among the others. */
public final class Inside {

    private final LockClient client;

    private Inside(LockClient client) {
        this.client = client;
    }

    public static Inside of(LockClient client) {
        return new Inside(client);
    }

    public Settings settings() {
        return client.settings;
    }

    public Clock clock() {
        return client.clock;
    }

    public Redis redis() {
        return client.redis;
    }

    public Holds holds() {
        return client.holds;
    }

    public LocalQueue localQueue() {
        return client.localQueue;
    }

    public FailoverEpoch epoch() {
        return client.epoch;
    }

    public ServerTimes serverTimes() {
        return client.serverTimes;
    }

    public MonitoredRedis monitored() {
        return client.monitored;
    }

    public Losses losses() {
        return client.losses;
    }

    public Watchdog watchdog() {
        return client.watchdog;
    }

    public Attempts attempts() {
        return client.attempts;
    }

    public Mailbox mailbox() {
        return client.mailbox;
    }

    public Handoff handoff() {
        return client.handoff;
    }

    public Residences residences() {
        return client.residences;
    }

    public LockEngine engine() {
        return client.engine;
    }

    public Owners owners() {
        return client.owners;
    }

    public Settlements settlements() {
        return client.settlements;
    }

    public Acquisitions acquisitions() {
        return client.acquisitions;
    }

    public AsyncAcquisitions async() {
        return client.async;
    }

    public Renewals renewals() {
        return client.renewals;
    }

    public Heartbeats heartbeats() {
        return client.heartbeats();
    }

    /** Renewals that remember so many losses. */
    public Renewals renewals(int remembered) {
        return client.renewals(remembered);
    }
}
