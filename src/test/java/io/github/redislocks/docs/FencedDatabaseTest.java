package io.github.redislocks.docs;

import static io.github.redislocks.FixedLease.fixed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.redislocks.LockLostException;
import io.github.redislocks.RedisLocks;
import io.github.redislocks.RedisReentrantLock;
import io.github.redislocks.fixture.RedisServers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The README's example of a database that refuses stale holders by their fencing tokens, on H2. */
@Timeout(60)
@Tag("server")
class FencedDatabaseTest {

    static final String TABLE = "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL,"
            + " fence BIGINT DEFAULT 0 NOT NULL)";
    static final String RAISE = "UPDATE account SET fence = ? WHERE id = ? AND fence <= ?";
    static final String READ = "SELECT balance FROM account WHERE id = ?";
    static final String WRITE = "UPDATE account SET balance = ?, fence = ? WHERE id = ? AND fence <= ?";

    private static final Duration SHORT = Duration.ofMillis(100);

    /** As in the README. */
    record Accounts(RedisLocks locks, DataSource dataSource) {

        void deposit(long account, long amount) throws SQLException {
            RedisReentrantLock lock = locks.reentrantLock("account:" + account);
            lock.lock();
            try (Connection database = dataSource.getConnection()) {
                database.setAutoCommit(false);
                long token = lock.fencingToken();
                change(database, RAISE, token, account, token);
                database.commit(); // from here on, all earlier holders are refused
                long balance = read(database, account);
                change(database, WRITE, balance + amount, token, account, token);
                database.commit();
            } finally {
                lock.unlock(); // after the commit, never before it
            }
        }

        static void change(Connection database, String sql, long... values) throws SQLException {
            try (PreparedStatement statement = database.prepareStatement(sql)) {
                for (int i = 0; i < values.length; i++) {
                    statement.setLong(i + 1, values[i]);
                }
                if (statement.executeUpdate() == 0) {
                    throw new SQLException("Refused: a later holder of the lock was here before");
                }
            }
        }

        static long read(Connection database, long account) throws SQLException {
            try (PreparedStatement statement = database.prepareStatement(READ)) {
                statement.setLong(1, account);
                try (ResultSet row = statement.executeQuery()) {
                    row.next();
                    return row.getLong(1);
                }
            }
        }
    }

    /** Unique, because the lock of its name is on a server that other tests share. */
    private final long account = UUID.randomUUID().getMostSignificantBits() >>> 1;

    private final JdbcDataSource dataSource = new JdbcDataSource();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private RedisLocks here;
    private RedisLocks there;
    private RedisReentrantLock lock;
    private RedisReentrantLock remote;
    private Connection mine;
    private Connection theirs;

    @BeforeEach
    void open() throws SQLException {
        dataSource.setURL("jdbc:h2:mem:" + UUID.randomUUID());
        mine = dataSource.getConnection();
        theirs = dataSource.getConnection();
        try (PreparedStatement table = mine.prepareStatement(TABLE)) {
            table.execute();
        }
        Accounts.change(mine, "INSERT INTO account (id, balance) VALUES (?, ?)", account, 0);
        here = RedisLocks.connect(RedisServers.shared().uri());
        there = RedisLocks.connect(RedisServers.shared().uri());
        lock = here.reentrantLock("account:" + account);
        remote = there.reentrantLock("account:" + account);
    }

    @AfterEach
    void close() throws SQLException {
        threads.shutdownNow();
        here.close();
        there.close();
        mine.close();
        theirs.close();
    }

    /** Takes the lock for a short lease and returns its token once the lease has run out. */
    private long staleToken() {
        fixed(lock, SHORT).lock();
        long token = lock.fencingToken();
        await().until(() -> !lock.isHeldByCurrentThread());
        return token;
    }

    /** Writes a balance as the holder of a token would that does not look at its lock. */
    private void write(Connection database, long balance, long token) throws SQLException {
        Accounts.change(database, WRITE, balance, token, account, token);
    }

    @Test
    void deposit_twoClientsAtOnce_losesNothing() throws Exception {
        int each = 25;
        List<Future<Void>> done = new ArrayList<>();
        for (Accounts accounts : List.of(new Accounts(here, dataSource), new Accounts(there, dataSource))) {
            done.add(threads.submit(() -> {
                for (int i = 0; i < each; i++) {
                    accounts.deposit(account, 2);
                }
                return null;
            }));
        }
        for (Future<Void> one : done) {
            one.get(30, TimeUnit.SECONDS);
        }
        assertThat(Accounts.read(mine, account)).isEqualTo(2L * 2 * each);
    }

    @Test
    void write_twiceByOneHolder_isAccepted() throws SQLException {
        lock.lock();
        write(mine, 1, lock.fencingToken());
        write(mine, 2, lock.fencingToken());
        lock.unlock();
        assertThat(Accounts.read(mine, account)).isEqualTo(2);
    }

    @Test
    void write_byStaleHolderAfterTheNext_isRefused() throws SQLException {
        long stale = staleToken();
        new Accounts(there, dataSource).deposit(account, 5);

        assertThatThrownBy(() -> write(mine, 100, stale))
                .isInstanceOf(SQLException.class)
                .hasMessageStartingWith("Refused");
        assertThat(Accounts.read(mine, account)).isEqualTo(5);
        assertThatThrownBy(lock::unlock).isInstanceOf(LockLostException.class);
    }

    @Test
    void write_byStaleHolderOnceTheNextHasRaisedTheFence_isRefused() throws SQLException {
        long stale = staleToken();
        remote.lock();
        long token = remote.fencingToken();
        Accounts.change(theirs, RAISE, token, account, token);
        long balance = Accounts.read(theirs, account);

        assertThatThrownBy(() -> write(mine, 100, stale)).isInstanceOf(SQLException.class);
        write(theirs, balance + 5, token);
        remote.unlock();
        assertThat(Accounts.read(mine, account)).isEqualTo(5);
    }

    /** Why the README raises the fence before it reads. */
    @Test
    void write_byStaleHolderWhereNobodyRaisesTheFence_isAcceptedAndOverwritten() throws SQLException {
        long stale = staleToken();
        remote.lock();
        long balance = Accounts.read(theirs, account);

        write(mine, 100, stale);
        assertThat(Accounts.read(mine, account)).isEqualTo(100);
        write(theirs, balance + 5, remote.fencingToken());
        remote.unlock();
        assertThat(Accounts.read(mine, account)).isEqualTo(5);
    }

    /** Why the README unlocks after the commit: the next holder reads what is committed, and so a deposit is lost. */
    @Test
    void unlock_beforeCommit_letsTheNextHolderReadTheOldBalance() throws SQLException {
        mine.setAutoCommit(false);
        lock.lock();
        write(mine, 100, lock.fencingToken());
        lock.unlock();

        remote.lock();
        long balance = Accounts.read(theirs, account);
        mine.commit();
        write(theirs, balance + 5, remote.fencingToken());
        remote.unlock();
        assertThat(balance).isZero();
        assertThat(Accounts.read(mine, account)).isEqualTo(5);
    }

    @Test
    void unlock_afterCommit_letsTheNextHolderReadTheNewBalance() throws SQLException {
        mine.setAutoCommit(false);
        lock.lock();
        write(mine, 100, lock.fencingToken());
        mine.commit();
        lock.unlock();

        remote.lock();
        long balance = Accounts.read(theirs, account);
        write(theirs, balance + 5, remote.fencingToken());
        remote.unlock();
        assertThat(Accounts.read(mine, account)).isEqualTo(105);
    }

    @Test
    void page_sql_isTheSqlOfThisTest() throws IOException {
        String page = Files.readString(Path.of("docs", "fencing.md"));
        Stream<String> statements = Pattern.compile("```sql\\n(.*?)```", Pattern.DOTALL)
                .matcher(page)
                .results()
                .map((MatchResult block) -> block.group(1).replaceAll("--.*", ""))
                .flatMap(block -> Arrays.stream(block.split(";")))
                .map(statement -> statement.strip().replaceAll("\\s+", " "))
                .filter(statement -> !statement.isEmpty());
        assertThat(statements).containsExactly(TABLE, RAISE, READ, WRITE);
    }
}
