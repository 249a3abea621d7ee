package io.github.redislocks;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.lang.conditions.ArchPredicates.are;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.properties.HasOwner;
import io.github.redislocks.concurrent.Threads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.Condition;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The rules for the main code of every artifact. */
abstract class CodeRules {

    private final JavaClasses classes;
    private final List<Path> sources;

    CodeRules(JavaClasses classes, List<Path> sources) {
        this.classes = classes;
        this.sources = sources;
    }

    @Test
    void threads_outsideTheirFactory_areNotMade() {
        noClasses()
                .that(are(DescribedPredicate.not(equivalentTo(Threads.class))))
                .should()
                .callConstructorWhere(
                        JavaCall.Predicates.target(HasOwner.Predicates.With.owner(assignableTo(Thread.class))))
                .because("a thread of the library must take nothing over from the caller that happens to need it")
                .check(classes);
    }

    @Test
    void wallClock_allClasses_isNotRead() {
        noClasses()
                .should()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(Instant.class, "now")
                .because("a hold is valid by monotonic time, and a lease by that of Redis; the wall clock jumps")
                .check(classes);
    }

    @Test
    void timer_allClasses_isNotUsed() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .areAssignableTo(Timer.class)
                .orShould()
                .dependOnClassesThat()
                .areAssignableTo(TimerTask.class)
                .because("one exception in a task ends a Timer; the library has one scheduler")
                .check(classes);
    }

    @Test
    void conditionsOfTheJdk_allClasses_areNotWaitedFor() {
        noClasses()
                .should()
                .callMethodWhere(
                        JavaCall.Predicates.target(HasOwner.Predicates.With.owner(equivalentTo(Condition.class))))
                .orShould()
                .dependOnClassesThat()
                .belongToAnyOf(LinkedBlockingQueue.class, ArrayBlockingQueue.class, LinkedBlockingDeque.class)
                .because("a Condition whose first signal meets an OutOfMemoryError may lose its waiter permanently")
                .check(classes);
    }

    @Test
    void synchronized_allSources_isNotUsed() {
        // Read from the sources, since a class file's model shows synchronized methods but no blocks.
        Pattern comment = Pattern.compile("/\\*.*?\\*/|//[^\\n]*", Pattern.DOTALL);
        Pattern keyword = Pattern.compile("\\bsynchronized\\b");
        assertThat(sources).isNotEmpty();
        assertThat(sources)
                .as("use a ReentrantLock: synchronized pins a virtual thread before JDK 24")
                .noneMatch(file -> keyword.matcher(comment.matcher(read(file)).replaceAll(""))
                        .find());
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
