package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.redislocks.cli.Recorded.Loss;
import io.github.redislocks.cli.Recorded.Outage;
import io.github.redislocks.cli.Recorded.Renewal;
import io.github.redislocks.cli.Recorded.Source;
import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;
import io.github.redislocks.cli.TimelinePages.Bar;
import io.github.redislocks.cli.TimelinePages.Grant;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The bars that are made of events, without a recording. */
class TimelineDataTest {

    private static final long MS = 1_000;
    private static final long T = 1_790_000_000_000_000L;

    private final Source one = source("one.jfr", 1);
    private final Source other = source("other.jfr", 2);
    private final Recorded recorded = new Recorded(1_000);

    private Source source(String name, long pid) {
        Source source = new Source(Path.of(name));
        source.pid = pid;
        source.events = 1;
        return source;
    }

    private static Who thread(String name) {
        return new Who(name.hashCode(), name);
    }

    private void wait(Source source, String thread, String lock, long token, long from, long until) {
        add(source, thread, lock, token == 0 ? "busy" : Recorded.ACQUIRED, token, from, until);
    }

    private void hold(Source source, String thread, String lock, long token, long from, long until) {
        add(source, thread, lock, Recorded.HOLD, token, from, until);
    }

    /** The thread "b" waits for the lock "x", and gets it at last. */
    private void serve(Source source, long token, long from, long at) {
        wait(source, "b", "x", token, from, at);
        hold(source, "b", "x", token, at, 80);
    }

    private void add(Source source, String thread, String lock, String kind, long token, long from, long until) {
        recorded.spans.add(
                new Span(source, thread(thread), lock, kind, token, T + until * MS, (until - from) * MS, false, ""));
    }

    private void lose(String lock, long token, String owner, long at) {
        recorded.losses.add(new Loss(one, T + at * MS, lock, token, owner, "TAKEN"));
    }

    private TimelinePages data() {
        recorded.sources.addAll(List.of(one, other));
        return TimelinePages.of(recorded);
    }

    @Test
    void release_toAWaiterInAnotherJvm_isAHandOff() {
        hold(one, "a", "x", 1, 0, 50);
        serve(other, 2, 20, 51);
        TimelinePages data = data();
        assertThat(data.jvms()).containsExactly("one.jfr", "other.jfr");
        assertThat(data.grants()).hasSize(1);
        Grant grant = data.grants().get(0);
        assertThat(grant.from()).extracting(Bar::jvm, Bar::lane, Bar::token).containsExactly("one.jfr", "a", "1");
        assertThat(grant.to()).extracting(Bar::jvm, Bar::lane, Bar::kind).containsExactly("other.jfr", "b", "hold");
        assertThat(grant.to().begin()).isEqualTo(51 * MS);
    }

    @Test
    void acquisition_thatDidNotWaitForTheHoldBefore_isNoHandOff() {
        hold(one, "a", "x", 1, 0, 50);
        serve(one, 2, 60, 75);
        hold(one, "c", "x", 3, 90, 99);
        wait(one, "d", "y", 4, 20, 51);
        assertThat(data().grants()).isEmpty();
    }

    /** The one in between was too short to be recorded, but its loss was. */
    @Test
    void lossInBetween_isNoHandOff() {
        hold(one, "a", "x", 1, 0, 50);
        lose("x", 2, "thread c", 55);
        serve(one, 3, 20, 70);
        assertThat(data().grants()).isEmpty();
    }

    @Test
    void lostHold_lastsFromItsWaitToItsLoss_besideItsThread() {
        wait(one, "a", "x", 1, 0, 10);
        lose("x", 1, "thread renamed", 60);
        hold(one, "b", "y", 2, 0, 5);
        lose("y", 9, "thread b", 70);
        lose("z", 7, "thread c", 80);
        lose("z", 8, "handle h3", 90);
        TimelinePages data = data();
        assertThat(data.bars("x", "lost")).singleElement().satisfies(bar -> {
            assertThat(bar.lane()).isEqualTo("a");
            assertThat(bar.begin()).isEqualTo(10 * MS);
            assertThat(bar.end()).isEqualTo(60 * MS);
        });
        assertThat(data.losses())
                .extracting(TimelinePages.Loss::lock, TimelinePages.Loss::lane)
                .containsExactly(tuple("x", "a"), tuple("y", "b"), tuple("z", "c"), tuple("z", "handles"));
        assertThat(data.lanes()).containsExactly("a", "b", "c", "handles");
    }

    @Test
    void handle_isBesideTheThreadThatReleasedIt() {
        wait(one, "redis-locks-handles-1f", "x", 1, 0, 20);
        hold(one, "pool-2", "x", 1, 20, 50);
        wait(one, "redis-locks-handles-1f", "y", 2, 0, 20);
        add(one, "", "z", Recorded.HOLD, 3, 0, 20);
        TimelinePages data = data();
        assertThat(data.lanes()).containsExactly("pool-2", "handles", "threads without a name");
        assertThat(data.bars("x", Recorded.ACQUIRED))
                .singleElement()
                .extracting(Bar::lane)
                .isEqualTo("pool-2");
        assertThat(data.bars("y", Recorded.ACQUIRED))
                .singleElement()
                .extracting(Bar::lane)
                .isEqualTo("handles");
    }

    /** Redis was away, and the release was told a second after the hold had ended. */
    @Test
    void hold_whoseReleaseTookLong_beginsWhenItsWaitEnded() {
        wait(one, "a", "x", 1, 0, 20);
        add(one, "a", "x", Recorded.HOLD, 1, 1_020, 1_110);
        assertThat(data().bars("x", Recorded.HOLD)).singleElement().satisfies(bar -> {
            assertThat(bar.begin()).isEqualTo(20 * MS);
            assertThat(bar.end()).isEqualTo(110 * MS);
        });
    }

    @Test
    void holdsOfOneThreadAtOneTime_areInRowsOfTheirOwn() {
        hold(one, "a", "x", 1, 0, 100);
        hold(one, "a", "y", 2, 10, 50);
        hold(one, "a", "z", 3, 20, 40);
        hold(one, "a", "y", 4, 60, 90);
        hold(one, "a", "z", 5, 100, 110);
        assertThat(data().bars())
                .extracting(Bar::token, Bar::row)
                .containsExactlyInAnyOrder(
                        tuple("1", 0L), tuple("2", 1L), tuple("3", 2L), tuple("4", 1L), tuple("5", 0L));
    }

    @Test
    void threads_areInTheOrderOfTheirNumbers() {
        LongStream.of(10, 9, 1).forEach(i -> hold(one, "worker-" + i, "x", i, i, i + 20));
        assertThat(data().lanes()).containsExactly("worker-1", "worker-9", "worker-10");
    }

    @Test
    void twoRecordingsOfOneJvm_areOne() {
        Source again = source("again.jfr", 1);
        recorded.sources.add(again);
        hold(one, "a", "x", 1, 0, 50);
        hold(again, "a", "x", 1, 0, 50);
        wait(one, "a", "x", 0, 0, 70);
        wait(again, "a", "x", 0, 0, 70);
        TimelinePages data = data();
        assertThat(data.jvms()).containsExactly("again.jfr, one.jfr", "other.jfr");
        assertThat(data.bars()).hasSize(2);
    }

    @Test
    void outages_lastFromBeginToEnd_andWithoutAnEndToTheEndOfAll() {
        recorded.outages.add(new Outage(one, T + 100 * MS, 10 * MS, "r:1", "no answer", false));
        recorded.outages.add(new Outage(one, T + 500 * MS, 410 * MS, "r:1", "no answer", true));
        recorded.outages.add(new Outage(other, T + 300 * MS, 0, "r:1", "no answer", false));
        recorded.renewals.add(new Renewal(other, T, 3));
        hold(one, "a", "x", 1, 0, 900);
        TimelinePages data = data();
        assertThat(data.list("outages"))
                .isEqualTo(List.of(
                        List.of(0, 90_000, 410_000, "r:1", "no answer", 1),
                        List.of(1, 300_000, 600_000, "r:1", "no answer", 0)));
        assertThat(data.list("renewals")).isEqualTo(List.of(List.of(1, 0, 3)));
    }

    @Test
    void tokens_areExact() {
        hold(one, "a", "x", Long.MAX_VALUE, 0, 50);
        assertThat(data().bars()).singleElement().extracting(Bar::token).isEqualTo("9223372036854775807");
    }
}
