package io.github.redislocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.redislocks.LockUnavailableException.Reason;
import io.github.redislocks.redis.RedisException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.junit.jupiter.api.Test;

/** The exception as a test of an application makes it, and after its way to another JVM. */
class LockUnavailableExceptionTest {

    private static LockUnavailableException.Builder away() {
        return LockUnavailableException.builder(Reason.UNANSWERED, "localhost:6379", "Redis does not answer.");
    }

    @Test
    void build_withNothingElse_isAboutNoLockAndLeavesNothing() {
        LockUnavailableException exception = away().build();
        assertThat(exception).hasMessage("Redis does not answer.").hasNoCause();
        assertThat(exception.reason()).isEqualTo(Reason.UNANSWERED);
        assertThat(exception.server()).isEqualTo("localhost:6379");
        assertThat(exception.lockName()).isNull();
        assertThat(exception.holdMayExist()).isFalse();
    }

    @Test
    void build_withoutAServer_isRefused() {
        assertThatNullPointerException()
                .isThrownBy(() -> LockUnavailableException.builder(Reason.REFUSED, null, "text"))
                .withMessage("server");
    }

    @Test
    void serialization_anyException_keepsWhatItSays() throws IOException, ClassNotFoundException {
        LockUnavailableException exception = away().lockName("job")
                .holdMayExist(true)
                .cause(new RedisException.Unanswered("cut", true, null))
                .build();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(exception);
        }
        LockUnavailableException copy;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            copy = (LockUnavailableException) in.readObject();
        }
        assertThat(copy).hasMessage("Redis does not answer.");
        assertThat(copy.reason()).isEqualTo(Reason.UNANSWERED);
        assertThat(copy.server()).isEqualTo("localhost:6379");
        assertThat(copy.lockName()).isEqualTo("job");
        assertThat(copy.holdMayExist()).isTrue();
        assertThat(copy.getCause()).isInstanceOf(RedisRequestException.class).hasMessage("cut");
    }
}
