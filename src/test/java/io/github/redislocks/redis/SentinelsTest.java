package io.github.redislocks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.redis.Sentinels.Sighting;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;

/** Whom a client believes when Sentinels disagree. */
class SentinelsTest {

    private static final HostAndPort OLD = new HostAndPort("old", 1);
    private static final HostAndPort NEW = new HostAndPort("new", 1);
    private static final HostAndPort NOTHING = new HostAndPort("nothing", 1);

    private static boolean overrules(Sighting seen, Sighting known, HostAndPort... lastSeen) {
        List<Optional<HostAndPort>> all = Stream.of(lastSeen)
                .map(address -> Optional.of(address).filter(named -> !named.equals(NOTHING)))
                .toList();
        return Sentinels.overrules(seen, known, all);
    }

    @Test
    void failoverThatOneHasSeen_isBelieved() {
        assertThat(overrules(new Sighting(NEW, 2), new Sighting(OLD, 1), NEW, OLD, OLD))
                .isTrue();
    }

    @Test
    void oldNews_ofMost_areNotBelievedWhileOneNamesTheNewMaster() {
        assertThat(overrules(new Sighting(OLD, 1), new Sighting(NEW, 2), NEW, OLD, OLD))
                .isFalse();
    }

    @Test
    void oldNews_ofOneThatIsAlone_areNotBelieved() {
        assertThat(overrules(new Sighting(OLD, 1), new Sighting(NEW, 2), NOTHING, OLD, NOTHING))
                .isFalse();
    }

    @Test
    void epochsThatBeganAnew_areBelievedIfMostSayTheSame() {
        assertThat(overrules(new Sighting(NEW, 0), new Sighting(OLD, 7), NEW, NEW, NOTHING))
                .isTrue();
        assertThat(overrules(new Sighting(NEW, 0), new Sighting(OLD, 7), NEW)).isTrue();
    }
}
