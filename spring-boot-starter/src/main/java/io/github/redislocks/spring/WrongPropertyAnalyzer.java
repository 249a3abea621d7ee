package io.github.redislocks.spring;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Lets Spring Boot show a wrong property as a description and an action, without a stack trace. */
final class WrongPropertyAnalyzer extends AbstractFailureAnalyzer<WrongPropertyAnalyzer.WrongProperty> {

    /** A property that cannot work, and what to do about it. */
    static final class WrongProperty extends IllegalArgumentException {

        @Serial
        private static final long serialVersionUID = 1;

        private final String description;
        private final String action;

        WrongProperty(String description, String action, @Nullable Throwable cause) {
            super(description + " " + action, cause);
            this.description = description;
            this.action = action;
        }
    }

    @Override
    protected FailureAnalysis analyze(Throwable failure, WrongProperty wrong) {
        return new FailureAnalysis(wrong.description, wrong.action, wrong);
    }
}
