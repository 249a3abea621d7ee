package io.github.redislocks.torture;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.torture.Event.Kind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The checker on histories written by hand: what is wrong in one way each, and what is right beside it. */
class CheckerTest {

    private final List<Event> events = new ArrayList<>();

    private void at(long millis, String actor, Kind kind, long number, String text) {
        at(millis, actor, kind, "lock", number, text);
    }

    private void at(long millis, String actor, Kind kind, String lock, long number, String text) {
        events.add(new Event(millis * 1_000_000, actor, kind, lock, number, text));
    }

    private void hold(String actor, long token, long in, long out) {
        at(in, actor, Kind.ASK, -1, "LOCK");
        at(in, actor, Kind.IN, token, Event.RENEWED);
        at(out, actor, Kind.OUT, 0, "unlock");
        at(out, actor, Kind.FREED, 0, "");
    }

    private Report check() {
        events.sort((a, b) -> Long.compare(a.nanos(), b.nanos()));
        return Checker.check("test", events);
    }

    private void struck(Fault fault, String victim, long begin, long end) {
        at(begin, Event.NEMESIS, Kind.STRIKE, victim, 0, fault.name());
        at(end, Event.NEMESIS, Kind.CEASE, victim, 0, fault.name());
    }

    @Test
    void holdsOneAfterTheOther_areFine() {
        hold("a/t0", 1, 0, 10);
        hold("b/t0", 2, 10, 20);
        Report report = check();
        assertThat(report.violations()).isEmpty();
        assertThat(report.acquisitions).isEqualTo(2);
    }

    @Test
    void holdsThatOverlap_areFound() {
        hold("a/t0", 1, 0, 10);
        hold("b/t0", 2, 9, 20);
        assertThat(check().overlaps).isEqualTo(1);
    }

    /** A hold of the actor from one time to another, whose text says what kind of hold it is. */
    private void hold(String actor, String text, long token, long in, long out) {
        hold(actor, token, in, out);
        events.replaceAll(event -> event.actor().equals(actor) && event.kind() == Kind.IN
                ? new Event(event.nanos(), actor, Kind.IN, event.lock(), event.number(), text)
                : event);
    }

    @Test
    void readersThatOverlap_areFine() {
        hold("w/t0", 5, 0, 5);
        hold("a/t0.read", Event.READ, 5, 6, 20);
        hold("b/t0.read", Event.READ, 5, 7, 10);
        hold("w/t1", 6, 21, 25);
        Report report = check();
        assertThat(report.violations()).isEmpty();
        assertThat(report.lateLeavers).isZero();
    }

    @Test
    void readerOverAWriter_isFound_whoeverEntersFirst() {
        hold("w/t0", 5, 0, 10);
        hold("a/t0.read", Event.READ, 5, 9, 20);
        assertThat(check().overlaps).as("the reader enters").isEqualTo(1);

        events.clear();
        hold("a/t0.read", Event.READ, 5, 0, 20);
        hold("b/t0.read", Event.READ, 5, 1, 8);
        hold("w/t0", 6, 9, 10);
        assertThat(check().overlaps).as("the writer enters").isEqualTo(1);
    }

    @Test
    void writerThatReadsInsideItsHold_isNoOverlap_butOthersAre() {
        hold("w/t0", 5, 0, 10);
        hold("w/t0.read", Event.READ, 5, 5, 20);
        hold("a/t0.read", Event.READ, 5, 11, 15);
        assertThat(check().violations()).isEmpty();

        hold("b/t0", 6, 14, 16);
        assertThat(check().overlaps).isEqualTo(1);
    }

    @Test
    void readerThatWasToldOfItsLoss_isNoOverlapFromThen() {
        at(0, "a/t0.read", Kind.ASK, -1, "LOCK");
        at(0, "a/t0.read", Kind.IN, 1, Event.READ);
        at(5, "a/t0.read", Kind.HELD, 0, "");
        at(15, "a/t0.read", Kind.LOST, 0, "EXPIRED");
        at(16, "a/t0", Kind.TOLD, 1, "EXPIRED");
        hold("b/t0", 2, 10, 20);
        assertThat(check().overlaps).isZero();

        at(12, "a/t0.read", Kind.HELD, 0, "");
        assertThat(check().overlaps).isEqualTo(1);
    }

    @Test
    void readerWithTheTokenOfAnEarlierWriter_isFound() {
        hold("w/t0", 5, 0, 2);
        hold("w/t1", 6, 3, 4);
        hold("a/t0.read", Event.READ, 5, 6, 8);
        assertThat(check().badTokens).isEqualTo(1);
    }

    @Test
    void valuesThatNoWriterWroteTogether_areATornRead() {
        hold("w/t0", 5, 0, 10);
        at(9, "w/t0", Kind.WROTE, 0, Event.PLAIN);
        at(20, "a/t0", Kind.SAW, 1, "1 12000000");
        assertThat(check().torn).isZero();

        at(30, "a/t0", Kind.SAW, 1, "2 22000000");
        Report report = check();
        assertThat(report.torn).isEqualTo(1);
        assertThat(report.violations()).singleElement().asString().contains("torn read: a/t0 saw 1 and 2 of lock");
    }

    @Test
    void valuesThatALostWriterLeft_areExcusedUntilTheNextChange() {
        at(0, "w/t0", Kind.ASK, -1, "LOCK");
        at(0, "w/t0", Kind.IN, 5, Event.RENEWED);
        at(20, "w/t0", Kind.LOST, 0, "EXPIRED");
        at(20, "w/t0", Kind.TOLD, 5, "EXPIRED");
        at(30, "a/t0", Kind.SAW, 1, "2 22000000");
        Report report = check();
        assertThat(report.torn).isZero();
        assertThat(report.tornExcused).isEqualTo(1);

        wrote("w/t1", 6, 40, 2);
        at(70, "a/t0", Kind.SAW, 3, "2 65000000");
        assertThat(check().torn).isEqualTo(1);
    }

    @Test
    void permitsWithDifferentNumbers_mayOverlap_andTheSameNumberTwiceIsFound() {
        hold("a/t8", "permits 0 2", 1, 0, 10);
        hold("b/t8", "permits 1", 2, 5, 20);
        hold("c/t8", "permits 0", 3, 11, 20);
        assertThat(check().violations()).isEmpty();

        hold("d/t8", "permits 1", 4, 19, 30);
        Report report = check();
        assertThat(report.overlaps).isEqualTo(1);
        assertThat(report.violations()).anyMatch(text -> text.contains("overlap on lock 1: d/t8 entered, b/t8"));
    }

    @Test
    void permitsBeyondThePool_areFound_andTokensThatDoNotGrow() {
        hold("a/t8", "permits 0", 2, 0, 10);
        hold("b/t8", "permits " + PermitUsers.SIZE, 3, 5, 20);
        assertThat(check().violations()).singleElement().asString().contains("no such permit");

        hold("c/t8", "permits 0", 1, 30, 40);
        assertThat(check().badTokens).isEqualTo(1);
    }

    @Test
    void holderWhoWasToldInTime_isLateButNoOverlap() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(5, "a/t0", Kind.HELD, 0, "");
        hold("b/t0", 2, 10, 20);
        at(15, "a/t0", Kind.LOST, 0, "EXPIRED");
        at(16, "a/t0", Kind.TOLD, 1, "EXPIRED");
        Report report = check();
        assertThat(report.overlaps).isZero();
        assertThat(report.lateLeavers).isEqualTo(1);
    }

    @Test
    void lossThatNoListenerHeardOf_isFound() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(15, "a/t0", Kind.LOST, 0, "EXPIRED");
        hold("b/t0", 2, 2_000, 2_010);
        assertThat(check().violations()).anyMatch(text -> text.contains("no listener"));
    }

    @Test
    void tokenThatDoesNotGrow_isFound() {
        hold("a/t0", 2, 0, 10);
        hold("b/t0", 1, 20, 30);
        assertThat(check().badTokens).isEqualTo(1);
    }

    @Test
    void tokenThatComesTwice_isFound() {
        hold("a/t0", 2, 0, 10);
        hold("b/t0", 2, 20, 30);
        assertThat(check().badTokens).isEqualTo(1);
    }

    @Test
    void changesFromOneValue_areALostUpdate() {
        hold("a/t0", 1, 0, 10);
        hold("b/t0", 2, 12, 20);
        at(9, "a/t0", Kind.WROTE, 7, Event.PLAIN);
        at(19, "b/t0", Kind.WROTE, 7, Event.PLAIN);
        at(9, "a/t0", Kind.WROTE, 7, Event.FENCED);
        at(19, "b/t0", Kind.WROTE, 8, Event.FENCED);
        Report report = check();
        assertThat(report.lostWithoutTokens).isEqualTo(1);
        assertThat(report.lostWithTokens).isZero();
    }

    @Test
    void changeOfOneThatStoodStill_isExcused_andSoAreThoseThatGoThroughTheSameValuesAgain() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(5, "a/t0", Kind.HELD, 0, "");
        at(5_000, "a/stalls", Kind.STALL, 4_990_000_000L, "");
        wrote("b/t0", 2, 3_100, 7);
        wrote("b/t0", 3, 3_200, 8);
        at(5_010, "a/t0", Kind.WROTE, 7, Event.PLAIN);
        at(5_020, "a/t0", Kind.LOST, 0, "EXPIRED");
        at(5_020, "a/t0", Kind.TOLD, 1, "EXPIRED");
        wrote("b/t0", 4, 5_100, 8);
        Report report = check();
        assertThat(report.lostExcused).isEqualTo(1);
        assertThat(report.lostWithoutTokens).isZero();

        wrote("b/t0", 5, 5_200, 8);
        assertThat(check().lostWithoutTokens).as("by nobody who stood still").isEqualTo(1);
    }

    @Test
    void changeOfOneWhoseHoldWasForgottenOnItsWay_isExcused() {
        struck(Fault.FLUSHALL, "", 101, 104);
        changedTwice(100);
        Report report = check();
        assertThat(report.lostExcused).isEqualTo(1);
        assertThat(report.lostWithoutTokens).isZero();

        events.clear();
        struck(Fault.FLUSHALL, "", 97, 99);
        changedTwice(100);
        assertThat(check().lostWithoutTokens).as("nothing was forgotten since").isEqualTo(1);
    }

    /** Two change the same value, of whom the first has asked at a time and heard 6 ms later. */
    private void changedTwice(long asked) {
        at(asked, "a/t0", Kind.ASK, -1, "LOCK");
        at(asked + 6, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(asked + 10, "a/t0", Kind.WROTE, 7, Event.PLAIN);
        at(asked + 12, "a/t0", Kind.OUT, 0, "unlock");
        at(asked + 12, "a/t0", Kind.FREED, 0, "");
        at(asked + 7, "b/t0", Kind.ASK, -1, "LOCK");
        at(asked + 8, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(asked + 11, "b/t0", Kind.WROTE, 7, Event.PLAIN);
        at(asked + 14, "b/t0", Kind.OUT, 0, "unlock");
        at(asked + 14, "b/t0", Kind.FREED, 0, "");
    }

    private void wrote(String actor, long token, long millis, long value) {
        hold(actor, token, millis, millis + 20);
        at(millis + 10, actor, Kind.WROTE, value, Event.PLAIN);
    }

    @Test
    void lockFreeWhileSomebodyWaits_isMeasuredFromTheLaterOfBoth() {
        hold("a/t0", 1, 0, 100);
        at(50, "b/t0", Kind.ASK, -1, "LOCK");
        at(800, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(810, "b/t0", Kind.FREED, 0, "");
        Report report = check();
        assertThat(report.longestIdleNanos).isEqualTo(700_000_000);
        assertThat(report.violations()).anyMatch(text -> text.contains("was free while somebody waited"));
    }

    @Test
    void stallOfTheMachine_isTakenOffABound() {
        hold("a/t0", 1, 0, 100);
        at(50, "b/t0", Kind.ASK, -1, "LOCK");
        at(700, Event.NEMESIS, Kind.STALL, "", 300_000_000, "");
        at(800, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(810, "b/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();
    }

    @Test
    void killedHolder_isFollowedWithinItsLease() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(10, "b/t0", Kind.ASK, -1, "LOCK");
        struck(Fault.KILL_WORKER, "a", 100, 101);
        at(3_400, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(3_410, "b/t0", Kind.FREED, 0, "");
        Report report = check();
        assertThat(report.killToNextNanos).isEqualTo(3_299_000_000L);
        assertThat(report.violations()).anyMatch(text -> text.contains("the next on lock after the kill"));
    }

    @Test
    void lockOfAThreadThatWaitsForAnotherToo_isNotIdle() {
        hold("a/t0", 1, 0, 100);
        at(40, "b/t5.lock", Kind.ASK, -1, SeveralHammer.WAY);
        at(50, "c/t0", Kind.ASK, -1, "LOCK");
        at(790, "b/t5.lock", Kind.CANCELLED, 0, "");
        at(800, "c/t0", Kind.IN, 2, Event.RENEWED);
        at(810, "c/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();
        events.removeIf(event -> event.text().equals(SeveralHammer.WAY));
        assertThat(check().violations()).singleElement().asString().contains("was free while somebody waited");
    }

    @Test
    void threadOfSeveralLocks_isServedByAnyOfThem() {
        hold("a/t5.lock", 1, 0, 10);
        struck(Fault.KILL_ALL, "", 100, 101);
        at(110, "a/t5.other", Kind.ASK, "other", -1, "LOCK");
        at(110, "a/t5.other", Kind.IN, "other", 1, Event.RENEWED);
        at(4_000, "a/t5.other", Kind.OUT, "other", 0, "unlock");
        at(4_000, "a/t5.other", Kind.FREED, "other", 0, "");
        assertThat(check().violations()).isEmpty();
    }

    @Test
    void threadThatIsNeverServedAgain_isFound() {
        hold("a/t0", 1, 0, 10);
        hold("b/t0", 2, 20, 30);
        struck(Fault.KILL_ALL, "", 100, 101);
        hold("a/t0", 3, 110, 120);
        hold("a/t0", 4, 4_000, 4_010);
        assertThat(check().violations()).anyMatch(text -> text.contains("b/t0 was never served after KILL_ALL"));
    }

    @Test
    void tryThatEndsEarlyOrLate_isFound() {
        hold("b/t0", 1, 0, 4_000);
        at(0, "a/t0", Kind.ASK, 1_000_000_000, "TIMED");
        at(990, "a/t0", Kind.NO, 0, "");
        at(2_000, "a/t0", Kind.ASK, 1_000_000_000, "TIMED");
        at(3_300, "a/t0", Kind.NO, 0, "");
        assertThat(check().violations())
                .anyMatch(text -> text.contains("false early"))
                .anyMatch(text -> text.contains("ended 300 ms late"))
                .hasSize(2);
    }

    @Test
    void waiterThatIsCancelled_isNotRefused() {
        at(0, "a/t0", Kind.ASK, -1, "CANCEL");
        at(1, "a/t0", Kind.CANCELLED, 0, "");
        assertThat(check().violations()).isEmpty();
    }

    @Test
    void lockThatIsKept_isTakenUntilThen_andNoLonger() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(10, "a/t0", Kind.OUT, 0, Event.UNLOCK);
        at(10, "a/t0", Kind.FREED, 1_000_000_000, "");
        at(990, "b/t0", Kind.ASK, 0, "TRY");
        at(991, "b/t0", Kind.NO, 0, "");
        at(20, "c/t0", Kind.ASK, -1, "LOCK");
        at(1_010, "c/t0", Kind.IN, 2, Event.RENEWED);
        at(1_020, "c/t0", Kind.OUT, 0, Event.UNLOCK);
        at(1_020, "c/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();

        at(1_030, "b/t0", Kind.ASK, 0, "TRY");
        at(1_031, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).singleElement().asString().contains("was refused though nobody had");
    }

    @Test
    void callWithoutEnd_hangs() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        assertThat(check().violations()).anyMatch(text -> text.contains("hangs"));
    }

    @Test
    void holdThatOutlivesItsDataForLong_isFound() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        struck(Fault.FLUSHALL, "", 100, 101);
        hold("b/t0", 2, 900, 910);
        at(1_700, "a/t0", Kind.HELD, 0, "");
        at(1_800, "a/t0", Kind.LOST, 0, "TAKEN");
        at(1_800, "a/t0", Kind.TOLD, 1, "TAKEN");
        Report report = check();
        assertThat(report.overlaps).isZero();
        assertThat(report.overlapsByDataLoss).isEqualTo(1);
        assertThat(report.violations()).anyMatch(text -> text.contains("learned that its hold vanished: 1599 ms"));
    }

    @Test
    void lossUnderAFaultThatKeepsHolds_isFound() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        struck(Fault.MEMORY_FULL, "", 100, 200);
        at(300, "a/t0", Kind.LOST, 0, "EXPIRED");
        at(300, "a/t0", Kind.TOLD, 1, "EXPIRED");
        assertThat(check().violations()).anyMatch(text -> text.contains("was lost although"));
    }

    @Test
    void lockThatStaysIdleAfterAFault_isFound() {
        hold("a/t0", 1, 0, 10);
        at(20, "b/t0", Kind.ASK, -1, "LOCK");
        struck(Fault.PAUSE_SERVER, "", 30, 2_030);
        at(4_000, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(4_010, "b/t0", Kind.FREED, 0, "");
        assertThat(check().violations())
                .anyMatch(text -> text.contains("was free while somebody waited (PAUSE_SERVER): 1970 ms"));
    }

    @Test
    void lockThatStaysIdleWithoutMessages_isJudgedFromTheLastWhoGaveUp() {
        hold("a/t0", 1, 0, 10);
        struck(Fault.NO_PUBLISH, "", 0, 4_000);
        at(20, "b/t0", Kind.ASK, 1_000_000_000, "TIMED");
        at(30, "c/t0", Kind.ASK, -1, "LOCK");
        at(1_020, "b/t0", Kind.NO, 0, "");
        at(2_200, "c/t0", Kind.IN, 2, Event.RENEWED);
        at(2_210, "c/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();

        at(2_220, "b/t0", Kind.ASK, 1_000_000_000, "TIMED");
        at(2_230, "c/t0", Kind.ASK, -1, "LOCK");
        at(3_220, "b/t0", Kind.NO, 0, "");
        at(4_450, "c/t0", Kind.IN, 3, Event.RENEWED);
        at(4_460, "c/t0", Kind.FREED, 0, "");
        assertThat(check().violations())
                .singleElement()
                .asString()
                .contains("was free while somebody waited (NO_PUBLISH): 1230 ms, the bound is 1200 ms");
    }

    @Test
    void waiterOfAPausedWorker_doesNotWait() {
        hold("a/t0", 1, 0, 10);
        at(5, "b/t0", Kind.ASK, -1, "LOCK");
        struck(Fault.PAUSE_WORKER, "b", 8, 6_000);
        at(6_005, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(6_010, "b/t0", Kind.FREED, 0, "");
        assertThat(check().longestIdleNanos).isEqualTo(5_000_000);
    }

    @Test
    void holdsThatNoOrderExplains_areFound() {
        hold("a/t0", 3, 0, 10);
        hold("b/t0", 2, 10, 20);
        assertThat(check().violations()).anyMatch(text -> text.contains("has no moment to begin after"));
    }

    @Test
    void lossThatTheNextIsNotToldOf_isFound() {
        struck(Fault.PAUSE_WORKER, "a", 2, 8);
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(10, "a/t0", Kind.LOST, 0, "EXPIRED");
        at(10, "a/t0", Kind.TOLD, 1, "EXPIRED");
        at(20, "b/t0", Kind.ASK, -1, "LOCK");
        at(30, "b/t0", Kind.ALARM, 0, "");
        at(30, "b/t0", Kind.IN, 2, Event.RENEWED);
        at(40, "b/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();

        events.removeIf(event -> event.kind() == Kind.ALARM);
        assertThat(check().violations()).singleElement().asString().contains("was not told of the loss of");

        struck(Fault.FLUSHALL, "", 5, 6);
        assertThat(check().violations())
                .as("Redis cannot report what it forgot")
                .isEmpty();
    }

    @Test
    void killedHolderThatTheNextIsNotToldOf_isFound_unlessItWasAboutToUnlock() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        struck(Fault.KILL_WORKER, "a", 100, 101);
        hold("b/t0", 2, 200, 210);
        assertThat(check().violations()).anyMatch(text -> text.contains("was not told of the loss of"));

        at(99, "a/t0", Kind.OUT, 0, Event.UNLOCK);
        assertThat(check().violations()).isEmpty();
    }

    @Test
    void alarmAfterAGoodRelease_isFound_unlessAFaultMayHaveCausedIt() {
        hold("a/t0", 1, 0, 10);
        at(20, "b/t0", Kind.ALARM, 0, "");
        hold("b/t0", 2, 20, 30);
        assertThat(check().violations()).singleElement().asString().contains("learned of a loss after the release of");

        struck(Fault.KILL_ALL, "", 15, 16);
        assertThat(check().violations()).noneMatch(text -> text.contains("learned of a loss"));
    }

    @Test
    void tryThatIsRefusedWithoutAnOwner_isFound() {
        hold("a/t0", 1, 0, 10);
        at(5, "b/t0", Kind.ASK, 0, "TRY");
        at(6, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).isEmpty();

        at(20, "b/t0", Kind.ASK, 0, "TRY");
        at(21, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).singleElement().asString().contains("b/t0 was refused though nobody had");
    }

    @Test
    void tryOfAHandle_thatIsRefusedWhileAClientMayKeepTheLock_isNoFinding() {
        at(0, "a", Kind.RESIDENT, 1_000_000_000, "");
        hold("a/t0", 1, 0, 10);
        at(20, "b/t0", Kind.ASK, 0, "TRY" + Event.BY_HANDLE);
        at(21, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).isEmpty();

        at(3_020, "b/t0", Kind.ASK, 0, "TRY" + Event.BY_HANDLE);
        at(3_021, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).singleElement().asString().contains("b/t0 was refused though nobody had");
    }

    @Test
    void tryOfALock_thatIsRefusedWhileAClientMayKeepTheLock_isFound() {
        at(0, "a", Kind.RESIDENT, 1_000_000_000, "");
        hold("a/t0", 1, 0, 10);
        at(20, "b/t0", Kind.ASK, 0, "TRY");
        at(21, "b/t0", Kind.NO, 0, "");
        assertThat(check().violations()).singleElement().asString().contains("b/t0 was refused though nobody had");
    }

    @Test
    void clientThatKeepsWhatTheServerForgot_mayGiveItToItsThreads_untilItIsTold() {
        at(0, "a", Kind.RESIDENT, 1_000_000_000, "");
        hold("a/t0", 1_000, 0, 10);
        struck(Fault.FLUSHALL, "", 20, 21);
        hold("b/t0", 9_000, 30, 60);
        hold("a/t1", 1_001, 40, 50);
        hold("b/t0", 10_000, 70, 75);
        hold("a/t0", 1_002, 80, 90);
        Report report = check();
        assertThat(report.violations()).isEmpty();
        assertThat(report.overlapsByDataLoss).isEqualTo(1);

        hold("a/t0", 1_003, 1_600, 1_610);
        hold("b/t0", 11_000, 1_620, 1_630);
        assertThat(check().violations()).anyMatch(text -> text.contains("learned that its hold vanished: 1589 ms"));
    }

    @Test
    void clientThatHasTheLockSinceTheServerForgotIt_givesGrowingTokensToThreadsThatDoNotOverlap() {
        at(0, "a", Kind.RESIDENT, 1_000_000_000, "");
        struck(Fault.FLUSHALL, "", 0, 1);
        hold("a/t0", 1_000, 300, 310);
        hold("b/t0", 9_000, 330, 360);
        hold("a/t1", 1_001, 340, 350);
        hold("b/t0", 10_000, 370, 380);
        hold("a/t0", 1_002, 390, 400);
        Report report = check();
        assertThat(report.overlaps).isEqualTo(1);
        assertThat(report.badTokens).isEqualTo(2);
    }

    @Test
    void clientThatKeepsNothing_givesNoTokenOfBefore_thoughTheServerForgot() {
        hold("a/t0", 1_000, 0, 10);
        struck(Fault.FLUSHALL, "", 20, 21);
        hold("b/t0", 9_000, 30, 60);
        hold("a/t1", 1_001, 70, 80);
        assertThat(check().badTokens).isEqualTo(1);
    }

    @Test
    void countThatIsWrong_isFound() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(1, "a/t0", Kind.COUNT, 2, Event.REENTER);
        at(2, "a/t0", Kind.OUT, 0, Event.AWAIT);
        at(3, "a/t0", Kind.IN, 2, Event.RENEWED);
        at(4, "a/t0", Kind.COUNT, 2, Event.AWAIT);
        at(5, "a/t0", Kind.COUNT, 1, Event.EXIT);
        at(6, "a/t0", Kind.OUT, 0, Event.UNLOCK);
        at(7, "a/t0", Kind.FREED, 0, "");
        assertThat(check().violations()).isEmpty();

        events.replaceAll(event -> event.text().equals(Event.AWAIT) && event.kind() == Kind.COUNT
                ? new Event(event.nanos(), event.actor(), Kind.COUNT, "lock", 1, Event.AWAIT)
                : event);
        assertThat(check().violations()).singleElement().asString().contains("a/t0 counts 1 after await, not 2");
    }

    @Test
    void releaseThatWasNotAnswered_mayHaveRun() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        at(2, "a/t0", Kind.OUT, 0, Event.UNLOCK);
        struck(Fault.ONE_WAY, "", 1, 900);
        at(1_000, "a/t0", Kind.LOST, 0, "UNCONFIRMED");
        at(1_000, "a/t0", Kind.TOLD, 1, "UNCONFIRMED");
        hold("b/t0", 2, 1_010, 1_020);
        assertThat(check().violations()).isEmpty();

        events.replaceAll(event -> new Event(
                event.nanos(),
                event.actor(),
                event.kind(),
                event.lock(),
                event.number(),
                event.text().replace("UNCONFIRMED", "TAKEN")));
        assertThat(check().violations()).anyMatch(text -> text.contains("was not told of the loss of"));
    }

    @Test
    void lossOfAClaim_isExcusedByALongStrikeOnly() {
        at(0, "a/t0", Kind.ASK, -1, "LOCK");
        at(0, "a/t0", Kind.IN, 1, Event.RENEWED);
        struck(Fault.CUT, "", 500, 1_500);
        at(2_200, "a/t0", Kind.LOST, 0, "UNCONFIRMED");
        at(2_200, "a/t0", Kind.TOLD, 1, "UNCONFIRMED");
        assertThat(check().violations()).anyMatch(text -> text.contains("was lost although the server kept all holds"));

        struck(Fault.CUT, "", 500, 1_900);
        assertThat(check().violations()).noneMatch(text -> text.contains("was lost although"));
    }

    @Test
    void lineThatAKillCutOff_isLeftOut() {
        assertThat(Event.parse("12\ta/t0\tIN\tlo")).isNull();
        Event event = new Event(12, "a/t0", Kind.IN, "lock", 7, "renewed");
        assertThat(Event.parse(event.line())).isEqualTo(event);
    }
}
