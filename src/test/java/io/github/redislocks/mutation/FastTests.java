package io.github.redislocks.mutation;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import io.github.redislocks.redis.Script;
import io.github.redislocks.testkit.twin.InMemoryRedis;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherExecutionRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The tests of scripts that need no server and do not wait, run in this thread on scripts that may be broken. */
final class FastTests {

    private static final String CORE = "io.github.redislocks.";
    private static final String SCRIPT = CORE + "script.";

    private final Launcher launcher = LauncherFactory.create(LauncherConfig.builder()
            .enableLauncherSessionListenerAutoRegistration(false)
            .enableLauncherDiscoveryListenerAutoRegistration(false)
            .enableTestExecutionListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false)
            .build());

    /** The scripts that a test ran, and how it failed if it did. */
    static final class Result {

        final Set<String> scripts = new LinkedHashSet<>();

        @Nullable
        Throwable failure;
    }

    /** The quick ones first. */
    private static List<DiscoverySelector> all() {
        return List.of(
                onTheTwin("ScriptTest"),
                onTheTwin("ShortScriptTest"),
                onTheTwin("TakeAllScriptTest"),
                selectClass(SCRIPT + "QuorumScriptTest"),
                selectMethod(CORE + "ToldScriptTest#release_onTheTwin_doesAsTheServerThatItImitates"),
                selectClass(SCRIPT + "LineScriptTest"),
                selectClass(SCRIPT + "ShareScriptTest"),
                selectClass(SCRIPT + "PermitsScriptTest"),
                selectClass(SCRIPT + "LineModelTest"));
    }

    /** The last of the targets of the class. */
    private static DiscoverySelector onTheTwin(String test) {
        return selectUniqueId(
                "[engine:junit-jupiter]/[class-template:" + SCRIPT + test + "]/[class-template-invocation:#5]");
    }

    /** Runs all tests up to the first that fails; returns what each of them did, by its id. */
    Map<String, Result> runAll(UnaryOperator<Script> replacing) {
        return run(all(), replacing);
    }

    /** Runs some of the tests, likewise. */
    Map<String, Result> run(Collection<String> ids, UnaryOperator<Script> replacing) {
        return run(
                ids.stream().map(id -> (DiscoverySelector) selectUniqueId(id)).toList(), replacing);
    }

    private Map<String, Result> run(List<DiscoverySelector> tests, UnaryOperator<Script> replacing) {
        Recorder recorder = new Recorder();
        InMemoryRedis.replaceScripts(script -> {
            recorder.current().scripts.add(script.name());
            return replacing.apply(script);
        });
        try {
            LauncherDiscoveryRequest request =
                    LauncherDiscoveryRequestBuilder.request().selectors(tests).build();
            launcher.execute(LauncherExecutionRequestBuilder.request(request)
                    .listeners(recorder)
                    .cancellationToken(recorder.token)
                    .build());
        } finally {
            InMemoryRedis.replaceScripts(UnaryOperator.identity());
        }
        return recorder.results;
    }

    private static final class Recorder implements TestExecutionListener {

        final CancellationToken token = CancellationToken.create();
        final Map<String, Result> results = new LinkedHashMap<>();
        private @Nullable String running;

        Result current() {
            return Objects.requireNonNull(results.get(running), "no test runs");
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            if (test.isTest()) {
                running = test.getUniqueId();
                results.put(running, new Result());
            }
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            result.getThrowable().ifPresent(failure -> {
                // Of a class or its preparation: as a test that failed.
                results.computeIfAbsent(test.getUniqueId(), id -> new Result()).failure = failure;
                token.cancel();
            });
        }
    }
}
