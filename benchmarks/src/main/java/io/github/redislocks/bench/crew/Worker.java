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
 * The main class of a child JVM: it reads tasks from its standard input, one a line, does each on its main thread, and
 * writes the answer to its standard output. It ends with its input.
 */
public final class Worker {

    private record Key(Contender contender, Setting setting) {}

    /** How long an orderly end may take. */
    private static final long END_NANOS = TimeUnit.SECONDS.toNanos(4);

    private final Map<Key, LockClient> clients = new HashMap<>();
    private final BlockingQueue<Task<?>> tasks = new LinkedBlockingQueue<>();
    private final PrintStream answers;

    /** The threads last, so that a contender meets those of earlier rounds again. */
    private final ExecutorService threads =
            new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.HOURS, new SynchronousQueue<>(), task -> {
                // A small stack: some works have 10,000 of them.
                Thread thread = new Thread(null, task, "bench", 256 * 1024);
                thread.setDaemon(true);
                return thread;
            });

    private Worker(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] args) throws InterruptedException {
        Worker worker = new Worker(System.out);
        // Output of libraries must not be taken for an answer.
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
            // The end, then.
        }
        end();
    }

    /** Ends this JVM at once, since the measuring JVM has gone; profilers may write what they have. */
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

    /** Tells the one that measures, before the answer. */
    public void say(Serializable word) {
        answers.println(Wire.WORD + Wire.encode(word));
        answers.flush();
    }

    /** The client of this JVM, made when it is first asked for. */
    public LockClient client(Contender contender, Setting setting) {
        return clients.computeIfAbsent(new Key(contender, setting), key -> contender.connect(setting));
    }

    /** The object that a task leaves for a later one. */
    Object left;

    public ExecutorService threads() {
        return threads;
    }
}
