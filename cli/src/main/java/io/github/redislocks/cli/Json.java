package io.github.redislocks.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** JSON for other programs, in ASCII: JSON must be UTF-8, but the output has the locale's encoding. */
final class Json {

    private static final JSON ASCII = JSON.builder(JsonFactory.builder()
                    .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
                    .build())
            .build();

    private Json() {}

    static String of(Map<String, Object> fields) {
        try {
            return ASCII.asString(fields);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
