package io.github.redislocks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each link from a page to a page of this repository leads to a file that is there, and to a heading in it. */
class LinksTest {

    private static final Pattern LINK = Pattern.compile("\\]\\((?!\\w+:)([^)#\\s]*)(?:#([^)\\s]+))?\\)");
    private static final Pattern PICTURE = Pattern.compile("<[^>]* src(?:set)?=\"(?!\\w+:)([^\"]*)\"");
    private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");

    private static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of(""))) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .filter(file -> !file.toString().matches("(.*/)?(target|\\..+)/.*"))
                    .toList();
        }
    }

    private static String text(Path page) throws IOException {
        return CODE.matcher(Files.readString(page)).replaceAll("");
    }

    /** The anchors of a page, as GitHub makes them of its headings. */
    private static List<String> anchors(Path page) throws IOException {
        return HEADING.matcher(text(page))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N}\\- _]", "")
                        .replace(' ', '-'))
                .toList();
    }

    @Test
    void links_ofAllPages_leadSomewhere() throws IOException {
        List<String> dead = new ArrayList<>();
        int count = 0;
        for (Path page : pages()) {
            Path folder = page.toAbsolutePath().getParent();
            Matcher link = LINK.matcher(text(page));
            while (link.find()) {
                count++;
                Path target = link.group(1).isEmpty() ? page : folder.resolve(link.group(1));
                String anchor = link.group(2);
                if (!Files.exists(target) || (anchor != null && !anchors(target).contains(anchor))) {
                    dead.add(page + ": " + link.group());
                }
            }
        }
        assertThat(count).isGreaterThan(100);
        assertThat(dead).isEmpty();
    }

    @Test
    void pictures_ofAllPages_areThere() throws IOException {
        List<String> missing = new ArrayList<>();
        int count = 0;
        for (Path page : pages()) {
            Path folder = page.toAbsolutePath().getParent();
            Matcher picture = PICTURE.matcher(text(page));
            while (picture.find()) {
                count++;
                if (!Files.exists(folder.resolve(picture.group(1)))) {
                    missing.add(page + ": " + picture.group());
                }
            }
        }
        assertThat(count).isGreaterThan(5);
        assertThat(missing).isEmpty();
    }
}
