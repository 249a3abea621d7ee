package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.redislocks.cli.Recorded.Span;
import io.github.redislocks.cli.Recorded.Who;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A browser draws the page, if there is a Chromium. */
@Timeout(120)
class TimelineBrowserTest {

    private static final Pattern RENDERED = Pattern.compile("<body data-rendered=\"([^\"]*)\"");
    private static final String HOSTILE =
            "</script><script>document.title='ran'</script><img src=x onerror=document.title='ran'>";
    private static final long T = 1_790_000_000_000_000L;

    private static String chromium;

    @TempDir
    Path folder;

    @BeforeAll
    static void find() {
        chromium = Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .flatMap(path -> Stream.of("chromium", "chromium-browser", "google-chrome")
                        .map(name -> Path.of(path, name)))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst()
                .orElse(null);
        if (chromium == null) {
            System.out.println("The pages of timeline are not looked at: there is no Chromium on the PATH.");
        }
        assumeTrue(chromium != null, "there is no Chromium on the PATH");
    }

    /** The page as it is after its script has run. */
    private String shown(Path page, String fragment) throws IOException, InterruptedException {
        Path out = folder.resolve("dom");
        Process browser = new ProcessBuilder(
                        chromium,
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--no-first-run",
                        "--disable-background-networking",
                        "--disable-component-update",
                        "--window-size=1000,700",
                        "--user-data-dir=" + folder.resolve("profile"),
                        "--dump-dom",
                        page.toUri() + fragment)
                .redirectOutput(out.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            assertThat(browser.waitFor(100, TimeUnit.SECONDS)).isTrue();
        } finally {
            browser.descendants().forEach(ProcessHandle::destroyForcibly);
            browser.destroyForcibly();
        }
        return Files.readString(out);
    }

    private static String rendered(String dom) {
        Matcher rendered = RENDERED.matcher(dom);
        assertThat(rendered.find()).as(dom).isTrue();
        return rendered.group(1);
    }

    private Path page(Recorded recorded) throws IOException {
        Path page = folder.resolve("page.html");
        try (Writer out = Files.newBufferedWriter(page)) {
            TimelinePage.write(new TimelineData(recorded).fields(), out);
        }
        return page;
    }

    private static void add(Recorded recorded, String lock, String kind, long token, long from, long until) {
        Recorded.Source source = recorded.sources.get(0);
        Who who = new Who(token % 7 + 1, HOSTILE + token % 7);
        recorded.spans.add(
                new Span(source, who, lock, kind, token, T + until * 1_000, (until - from) * 1_000, false, ""));
    }

    private static Recorded empty(int bars) {
        Recorded recorded = new Recorded(bars);
        recorded.sources.add(new Recorded.Source(Path.of("a.jfr")));
        return recorded;
    }

    @Test
    void page_drawsWhatIsSearched_andRunsNoScriptButItsOwn() throws Exception {
        Recorded recorded = empty(100);
        add(recorded, HOSTILE, Recorded.HOLD, 1, 0, 50);
        add(recorded, HOSTILE, Recorded.ACQUIRED, 2, 10, 50);
        add(recorded, HOSTILE, Recorded.HOLD, 2, 50, 90);
        add(recorded, "other", Recorded.HOLD, 3, 0, 90);
        String shown = shown(page(recorded), "#lock=%3C%2FSCRIPT");
        assertThat(rendered(shown)).isEqualTo("3 bars, 1 hand-offs");
        assertThat(shown).contains("<title>Timeline of locks</title>").contains("onerror");
    }

    @Test
    void pageOfAHundredThousandBars_isDrawn() throws Exception {
        Recorded recorded = empty(100_000);
        for (int i = 1; i <= 50_000; i++) {
            add(recorded, "lock " + i % 3, Recorded.ACQUIRED, i, i * 10L, i * 10L + 30);
            add(recorded, "lock " + i % 3, Recorded.HOLD, i, i * 10L + 30, i * 10L + 60);
        }
        Path page = page(recorded);
        assertThat(Files.size(page)).isLessThan(12_000_000);
        assertThat(rendered(shown(page, ""))).isEqualTo("100000 bars, 49997 hand-offs");
    }
}
