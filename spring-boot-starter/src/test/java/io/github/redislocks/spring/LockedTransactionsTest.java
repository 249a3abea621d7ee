package io.github.redislocks.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.FencedLock;
import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReadLock;
import io.github.redislocks.RedisReentrantReadWriteLock;
import io.github.redislocks.fixture.OwnThread;
import io.github.redislocks.fixture.RedisServers;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Transactions under locks without annotations, on H2 and a real Redis. */
@Timeout(120)
class LockedTransactionsTest {

    @BeforeAll
    static void chooseRedis() {
        // Started here, since a context would wrap the exception that skips the test where no process may be started.
        RedisServers.shared();
    }

    private static final int SALES = 400;

    private final String name = "transactions-" + UUID.randomUUID();
    private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Sales.class);
    private final RedisLocks locks = context.getBean(RedisLocks.class);
    private final Sales.Counter counter = context.getBean(Sales.Counter.class);
    private final TransactionTemplate template =
            new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    private final LockedTransactions transactions = new LockedTransactions(locks, template);
    private final FencedLock lock = locks.reentrantLock(name);

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void withLock_commitsBeforeItUnlocks_soNoSaleIsLost() throws Exception {
        Sales.inThreads(SALES, () -> transactions.runWithLock(name, held -> counter.add(1)));
        assertThat(counter.count(1)).isEqualTo(SALES);
        int inside = 0;
        do {
            inside += 100;
            Sales.inThreads(
                    100,
                    () -> template.executeWithoutResult(
                            status -> locks.reentrantLock(name).runWithLock(() -> counter.add(2))));
        } while (inside < 5_000 && counter.count(2) == inside);
        assertThat(counter.count(2)).as("with the lock inside the transaction").isLessThan(inside);
    }

    @Test
    void withLock_fence_isRaisedInATransactionOfItsOwnUnderTheSameLock() {
        // As the README does it in SQL: the fence is committed before the balance is read.
        long token = locks.reentrantLock(name).callWithLock(() -> {
            Long raised = transactions.callWithLock(name, FencedLock::fencingToken);
            transactions.runWithLock(name, held -> {
                assertThat(held.fencingToken()).isEqualTo(raised);
                counter.add(1);
            });
            return raised;
        });
        assertThat(token).isPositive();
        assertThat(counter.count(1)).isOne();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void withLock_actionThatThrows_isRolledBackAndUnlocked() {
        assertThatThrownBy(() -> transactions.runWithLock(name, held -> {
                    counter.add(1);
                    throw new IllegalArgumentException("no");
                }))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(counter.count(1)).isZero();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void withLock_lockThatIsLost_isRolledBack() {
        assertThatThrownBy(() -> transactions.runWithLock(name, held -> {
                    counter.add(1);
                    held.forceUnlock();
                    assertThat(held.tryLock()).isTrue();
                    held.unlock();
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isZero();
    }

    @Test
    void withLock_insideATransaction_isRefused() {
        assertThatThrownBy(() -> template.executeWithoutResult(status -> transactions.runWithLock(name, held -> {})))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("unlockAfterCompletion");
    }

    @Test
    void withLock_readLock_letsOthersRead_andKeepsWritersOut() {
        RedisReentrantReadWriteLock both = locks.readWriteLock(name);
        int read = transactions.callWithLock(both.readLock(), held -> {
            held.ensureHeld();
            assertThat(TransactionSynchronizationManager.isActualTransactionActive())
                    .isTrue();
            OwnThread.run(() -> {
                        transactions.runWithLock(both.readLock(), RedisReadLock::ensureHeld);
                        assertThat(lock.tryLock()).isFalse();
                    })
                    .join();
            return counter.count(1);
        });
        assertThat(read).isZero();
        assertThat(both.readLock().isHeldByCurrentThread()).isFalse();
        transactions.runWithLock(both.writeLock(), held -> counter.add(1));
        assertThat(counter.count(1)).isOne();
    }

    @Test
    void withLock_readLockThatIsLost_isRolledBack() {
        assertThatThrownBy(() ->
                        transactions.runWithLock(locks.readWriteLock(name).readLock(), held -> {
                            counter.add(1);
                            assertThat(lock.forceUnlock()).isTrue();
                        }))
                .isInstanceOf(LockLostException.class);
        assertThat(counter.count(1)).isZero();
    }

    @Test
    void withLock_readLockInsideATransaction_isRefused() {
        assertThatThrownBy(() -> template.executeWithoutResult(status ->
                        transactions.runWithLock(locks.readWriteLock(name).readLock(), held -> {})))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("outside of the transaction")
                .hasMessageNotContaining("unlockAfterCompletion");
    }

    @Test
    void withLock_severalLocks_areAllHeld() {
        transactions.runWithLock(locks.multiLock(List.of(name, name + "-2")), held -> {
            held.ensureHeld();
            counter.add(1);
            assertThat(lock.isHeldByCurrentThread()).isTrue();
        });
        assertThat(counter.count(1)).isOne();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void unlockAfterCompletion_keepsTheLockUntilTheTransactionHasEnded() {
        template.executeWithoutResult(status -> {
            lock.lock();
            LockedTransactions.unlockAfterCompletion(lock);
            counter.add(1);
            status.setRollbackOnly();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
        });
        assertThat(lock.isLocked()).isFalse();
        assertThat(counter.count(1)).isZero();
    }

    @Test
    void unlockAfterCompletion_twiceOfOneLock_unlocksBoth() {
        template.executeWithoutResult(status -> {
            lock.lock();
            LockedTransactions.unlockAfterCompletion(lock);
            lock.lock();
            LockedTransactions.unlockAfterCompletion(lock);
            assertThat(lock.getHoldCount()).isEqualTo(2);
        });
        assertThat(lock.isLocked()).isFalse();
    }

    /** As JTA may do it: a thread of its own rolls back what took too long. */
    @Test
    void unlockAfterCompletion_toldByAnotherThread_unlocksToo() throws InterruptedException {
        TransactionSynchronizationManager.initSynchronization();
        TransactionSynchronizationManager.setActualTransactionActive(true);
        try {
            lock.lock();
            LockedTransactions.unlockAfterCompletion(lock);
            TransactionSynchronization end =
                    TransactionSynchronizationManager.getSynchronizations().get(0);
            onAnotherThread(() -> end.afterCompletion(TransactionSynchronization.STATUS_ROLLED_BACK));
            assertThat(lock.isLocked()).isFalse();
            assertThat(lock.isHeldByCurrentThread()).as("which is told").isFalse();
            onAnotherThread(() -> {
                lock.lock();
                end.afterCompletion(TransactionSynchronization.STATUS_ROLLED_BACK);
                lock.ensureHeld();
                lock.unlock();
            });
        } finally {
            TransactionSynchronizationManager.clear();
        }
    }

    private static void onAnotherThread(Runnable action) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread other = new Thread(action);
        other.setUncaughtExceptionHandler((thread, e) -> thrown.set(e));
        other.start();
        other.join();
        assertThat(thrown).hasValue(null);
    }

    @Test
    void unlockAfterCompletion_withoutATransaction_unlocksAndThrows() {
        lock.lock();
        assertThatThrownBy(() -> LockedTransactions.unlockAfterCompletion(lock))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("No transaction is open");
        assertThat(lock.isLocked()).isFalse();
        assertThatThrownBy(() -> LockedTransactions.unlockAfterCompletion(lock))
                .isInstanceOf(IllegalMonitorStateException.class);
    }
}
