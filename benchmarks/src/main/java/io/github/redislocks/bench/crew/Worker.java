package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.LockClient;
import io.github.redislocks.bench.contender.Setting;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The main class of a child JVM. It reads tasks from the standard input, one in each line, does each task on its main
 * thread, and writes the answer to the standard output. The JVM ends at the end of its input.
 */
public final class Worker {

    private record Key(Contender contender, Setting setting) {}

    /** The most time for an orderly end. */
    private static final long END_NANOS = TimeUnit.SECONDS.toNanos(4);

    private final Map<Key, LockClient> clients = new HashMap<>();
    private final BlockingQueue<Task<?>> tasks = new LinkedBlockingQueue<>();
    private final PrintStream answers;

    /** The threads are kept, so that a contender uses the same threads in each round. */
    private final ExecutorService threads =
            new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.HOURS, new SynchronousQueue<>(), task -> {
                // Use a small stack, since some works have 10,000 threads.
                Thread thread = new Thread(null, task, "bench", 256 * 1024);
                thread.setDaemon(true);
                return thread;
            });

    private Worker(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] args) throws InterruptedException {
        Worker worker = new Worker(System.out);
        // Redirect the output of libraries, which must not be taken for an answer.
        System.setOut(System.err);
        Thread reader = new Thread(worker::read, "bench-input");
        reader.setDaemon(true);
        reader.start();
        while (true) {
            worker.perform(worker.tasks.take());
        }
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                tasks.add((Task<?>) Wire.decode(line));
            }
        } catch (IOException gone) {
            // Ignored: the parent JVM has gone, and this JVM ends below.
        }
        end();
    }

    /** Ends this JVM, since the measuring JVM has gone. Profilers get time to write their results. */
    private static void end() {
        Thread last = new Thread(
                () -> {
                    LockSupport.parkNanos(END_NANOS);
                    Runtime.getRuntime().halt(0);
                },
                "bench-end");
        last.setDaemon(true);
        last.start();
        System.exit(0);
    }

    private void perform(Task<?> task) {
        Serializable answer;
        try {
            answer = task.run(this);
        } catch (Throwable e) {
            answer = Failure.of(e);
        }
        say(answer);
    }

    /** Sends a message to the measuring JVM, before the answer. */
    public void say(Serializable word) {
        answers.println(Wire.WORD + Wire.encode(word));
        answers.flush();
    }

    /** Returns the client of this JVM. The first call makes the client. */
    public LockClient client(Contender contender, Setting setting) {
        return clients.computeIfAbsent(new Key(contender, setting), key -> contender.connect(setting));
    }

    /** The object that a task leaves for a later task. */
    Object left;

    public ExecutorService threads() {
        return threads;
    }
}
