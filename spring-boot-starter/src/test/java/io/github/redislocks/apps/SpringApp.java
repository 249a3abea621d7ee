package io.github.redislocks.apps;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An instance of an application that serves HTTP. */
final class SpringApp implements AutoCloseable {

    private static final Pattern PORT = Pattern.compile("(?m)^port (\\d+)\\.$");

    private final HttpClient http = HttpClient.newHttpClient();
    private final Process process;
    private final Path log;
    private final int port;

    private SpringApp(Process process, Path log) {
        this.process = process;
        this.log = log;
        await().atMost(Duration.ofMinutes(3))
                .until(() -> !process.isAlive() || PORT.matcher(said()).find());
        Matcher said = PORT.matcher(said());
        if (!said.find()) {
            throw new IllegalStateException("The application did not start:\n" + said());
        }
        port = Integer.parseInt(said.group(1));
    }

    static ProcessBuilder command(Path app, List<String> options, String... args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:TieredStopAtLevel=1"); // starts sooner
        command.addAll(options);
        command.addAll(List.of("-jar", app.toString()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command).redirectErrorStream(true);
    }

    /** Starts it, and waits until it serves. */
    static SpringApp start(Path app, String... args) throws IOException {
        Path log = Files.createTempFile("spring-app", ".log");
        Process process =
                command(app, List.of(), args).redirectOutput(log.toFile()).start();
        try {
            return new SpringApp(process, log);
        } catch (RuntimeException e) {
            process.destroyForcibly();
            throw e;
        }
    }

    long pid() {
        return process.pid();
    }

    private String said() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    String get(String path) throws Exception {
        return ask("GET", path).get(180, TimeUnit.SECONDS);
    }

    String post(String path) throws Exception {
        return postAsync(path).get(180, TimeUnit.SECONDS);
    }

    CompletableFuture<String> postAsync(String path) {
        return ask("POST", path);
    }

    String delete(String path) throws Exception {
        return ask("DELETE", path).get(180, TimeUnit.SECONDS);
    }

    private CompletableFuture<String> ask(String method, String path) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build();
        return http.sendAsync(request, HttpResponse.BodyHandlers.ofString()).thenApply(HttpResponse::body);
    }

    /** Stops it as an operator does, and returns what it has said. */
    String stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            throw new IllegalStateException("The application did not stop:\n" + said());
        }
        String said = said();
        System.out.println(said);
        return said;
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        Files.deleteIfExists(log);
    }
}
