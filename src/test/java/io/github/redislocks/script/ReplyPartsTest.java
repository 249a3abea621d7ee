package io.github.redislocks.script;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Reply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The heads of the scripts name the parts of each reply; the readers find the parts where the heads say. */
class ReplyPartsTest {

    private static final Path SCRIPTS = Path.of("src/main/resources/io/github/redislocks/script/lua");
    private static final Pattern HEAD = Pattern.compile("-- returns (.*?)\\n(?!--)", Pattern.DOTALL);
    /** A code, and the names of its parts up to an explanation. */
    private static final Pattern PARTS =
            Pattern.compile("([A-Z]{2,})((?: [a-z][a-z-]*(?:\\([^)]*\\))?)*)(?=[,:;|]| \\||$| \\()");

    /** Comes from another server than the one that is asked, so nobody reads its time. */
    private static final String OF_ANOTHER_SERVER = "OTHER";

    private record Form(String script, String code, List<String> parts) {

        Reply reply() {
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < parts.size(); i++) {
                values.add(100L + i);
            }
            return new Reply(code, values);
        }
    }

    private static List<Form> forms() throws IOException {
        List<Form> all = new ArrayList<>();
        try (Stream<Path> files = Files.list(SCRIPTS)) {
            for (Path file : (Iterable<Path>) files.sorted()::iterator) {
                Matcher head = HEAD.matcher(Files.readString(file));
                if (head.find() && Files.readString(file).contains("notAfter")) {
                    String text = head.group(1).replaceAll("\\s*\\n--\\s*", " ");
                    Matcher forms = PARTS.matcher(text);
                    while (forms.find()) {
                        String names =
                                forms.group(2).replaceAll("\\([^)]*\\)", "").strip();
                        all.add(new Form(
                                file.getFileName().toString(),
                                forms.group(1),
                                names.isEmpty() ? List.of() : List.of(names.split(" "))));
                    }
                }
            }
        }
        return all;
    }

    @Test
    void now_isReadWhereTheHeadOfTheScriptNamesIt_andNowhereElse() throws IOException {
        List<Form> forms = forms();
        assertThat(forms).extracting(Form::code).contains("LATE", "BUSY", "RESIDENT", "OK", "QUEUED", "VOTED", "DONE");
        for (Form form : forms) {
            int index = form.parts.indexOf("now");
            if (!form.code.equals(OF_ANOTHER_SERVER)) {
                assertThat(form.reply().now()).as(form.toString()).isEqualTo(index < 0 ? 0 : 100 + index);
            }
        }
    }

    @Test
    void wait_ofALeave_isReadWhereTheHeadOfTheScriptNamesIt() throws IOException {
        List<Form> forms = forms().stream()
                .filter(form -> form.script.matches("leave.lua|unshare.lua"))
                .toList();
        assertThat(forms).hasSize(5);
        for (Form form : forms) {
            assertThat(Answer.stillRunsMillis(form.reply()))
                    .as(form.toString())
                    .isEqualTo(100 + form.parts.indexOf("wait"));
        }
    }
}
