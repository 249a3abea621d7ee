package io.github.redislocks.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a thread of the library inherits nothing from the thread that makes it. */
@Timeout(20)
class ThreadsTest {

    private static final InheritableThreadLocal<String> REQUEST = new InheritableThreadLocal<>();

    /** The properties of the current thread that a new thread might inherit. */
    private record Seen(String request, ClassLoader loader, ThreadGroup group, int priority, boolean daemon) {

        static Seen now() {
            Thread thread = Thread.currentThread();
            return new Seen(
                    REQUEST.get(),
                    thread.getContextClassLoader(),
                    thread.getThreadGroup(),
                    thread.getPriority(),
                    thread.isDaemon());
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // What is tested is that it does not matter.
    private static Seen madeBy(ThreadGroup group, ClassLoader loader, int priority) throws InterruptedException {
        AtomicReference<Seen> seen = new AtomicReference<>();
        Thread maker = new Thread(group, () -> {
            REQUEST.set("a request of an application");
            Thread.currentThread().setContextClassLoader(loader);
            Thread made = Threads.daemon("made", () -> seen.set(Seen.now()));
            made.start();
            try {
                made.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        maker.setPriority(priority);
        maker.start();
        maker.join();
        return seen.get();
    }

    @Test
    void daemon_madeByAnyThread_inheritsNothing() throws Exception {
        try (URLClassLoader application = new URLClassLoader(new URL[0])) {
            ThreadGroup group = new ThreadGroup("application");
            Seen seen = madeBy(group, application, Thread.MIN_PRIORITY);
            assertThat(seen.request).isNull();
            assertThat(seen.loader).isEqualTo(Threads.class.getClassLoader()).isNotEqualTo(application);
            assertThat(group.parentOf(seen.group)).isFalse();
            assertThat(seen.group.getParent()).isNull();
            assertThat(seen.priority).isEqualTo(Thread.NORM_PRIORITY);
            assertThat(seen.daemon).isTrue();
        }
    }

    @Test
    void make_withTheUsersFactory_namesTheThreadByRoleAndClient() {
        Thread own = new Thread(() -> {});
        assertThat(Threads.of(work -> own, "4711").make("watchdog", () -> {})).isSameAs(own);
        assertThat(own.getName()).isEqualTo("redis-locks-watchdog-4711");
        Thread ours = Threads.of(null, "4711").make("watchdog", () -> {});
        assertThat(ours.getName()).isEqualTo("redis-locks-watchdog-4711");
        assertThat(ours.isDaemon()).isTrue();
    }

    @Test
    void make_withAFactoryThatReturnsNull_throwsWithTheRemedy() {
        Threads threads = Threads.of(work -> null, "4711");
        assertThatThrownBy(() -> threads.make("watchdog", () -> {}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("threadFactory")
                .hasMessageContaining("redis-locks-watchdog-4711")
                .hasMessageContaining("platform threads");
    }

    @Test
    void name_ofAThreadWithoutAName_isItsText() {
        assertThat(Threads.name(new Thread(null, () -> {}, "worker"))).isEqualTo("worker");
        assertThat(Threads.name(new Thread(null, () -> {}, ""))).startsWith("Thread[");
    }
}
