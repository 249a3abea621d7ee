package check;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.testkit.InMemoryLocks;
import io.github.redislocks.testkit.InMemoryLocksExtension;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(InMemoryLocksExtension.class)
class KitTest {

    @Test
    void lock_thatIsLost_saysSo(InMemoryLocks memory, RedisLocks locks) {
        RedisReentrantLock lock = locks.reentrantLock("report");
        lock.lock();
        memory.lose("report");
        assertThrows(LockLostException.class, lock::ensureHeld);
    }
}
