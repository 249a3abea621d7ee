package io.github.redislocks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.redislocks.fixture.OwnServer;
import java.net.URI;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** The doctor's findings and its remedies. */
@Timeout(60)
class DoctorTest {

    private static OwnServer server;

    @BeforeAll
    static void start() {
        server = OwnServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void doctor_ofAServerForTests_findsNoFailure() {
        Cli doctor = Cli.run(server.uri(), "doctor");
        assertThat(doctor.out()).contains("Redis 7.0").contains("noeviction").contains("locked and unlocked");
        assertThat(doctor.out()).containsPattern("more rights +ok +may use read-write locks and permits");
        assertThat(doctor.exitCode()).isZero();
        try (Jedis jedis = new Jedis(URI.create(server.uri()))) {
            assertThat(jedis.keys("*:permits*")).as("which it only looks at").isEmpty();
        }
    }

    @Test
    void doctor_ofAServerThatEvicts_fails() {
        try (OwnServer evicting = OwnServer.start();
                Jedis jedis = new Jedis(URI.create(evicting.uri()))) {
            jedis.configSet("maxmemory-policy", "allkeys-lru");
            Cli doctor = Cli.run(evicting.uri(), "doctor");
            assertThat(doctor.exitCode()).isEqualTo(1);
            assertThat(doctor.out()).contains("FAILED").contains("set maxmemory-policy noeviction");
        }
    }

    @Test
    void doctor_withoutARight_namesTheCheck_andGoesOn() {
        try (Jedis jedis = new Jedis(URI.create(server.uri()))) {
            jedis.aclSetUser("noinfo", "on", ">pw", "~*", "&*", "+@all", "-info");
            jedis.aclSetUser("notime", "on", ">pw", "~*", "&*", "+@all", "-time");
            jedis.aclSetUser("nopools", "on", ">pw", "~*", "&*", "+@all", "-hgetall");
        }
        Cli noInfo = Cli.run(server.uri().replace("//", "//noinfo:pw@"), "doctor");
        assertThat(noInfo.exitCode()).isEqualTo(1);
        assertThat(noInfo.out())
                .containsPattern("info +FAILED +NOPERM")
                .containsPattern("latency +(ok|NOTE)")
                .containsPattern("rights +ok");
        Cli noTime = Cli.run(server.uri().replace("//", "//notime:pw@"), "doctor");
        assertThat(noTime.exitCode()).isEqualTo(1);
        assertThat(noTime.out()).containsPattern("clock +FAILED +NOPERM").containsPattern("latency +(ok|NOTE)");
        Cli noPools = Cli.run(server.uri().replace("//", "//nopools:pw@"), "doctor");
        assertThat(noPools.exitCode()).as("locks are safe").isZero();
        assertThat(noPools.out())
                .containsPattern("(?m)^rights +ok")
                .containsPattern("more rights +NOTE +may use neither read-write locks nor permits +grant \\+hgetall");
    }

    @Test
    void doctor_readsAUrlAsTheLibraryDoes_andShowsNoPassword() {
        Cli noPort = Cli.run("redis://user:secret@127.255.255.254", "doctor");
        assertThat(noPort.exitCode()).isEqualTo(1);
        assertThat(noPort.out())
                .containsPattern("answers +FAILED .*127.255.255.254:6379")
                .doesNotContain("secret");
        Cli cluster = Cli.run("redis-cluster://user:secret@x", "doctor");
        assertThat(cluster.exitCode()).isEqualTo(2);
        assertThat(cluster.err()).contains("doctor examines one server").doesNotContain("secret");
    }

    @Test
    void doctor_ofASentinelOrAnUnknownVersion_saysWhatItIs() {
        assertThat(found("redis_version:7.0.15\nredis_mode:sentinel\n"))
                .containsPattern("role +FAILED +a Sentinel +name the master")
                .doesNotContain("memory");
        assertThat(found("redis_version:7.0.15\nredis_mode:cluster\nrole:master\n"))
                .containsPattern("role +NOTE +a master of a cluster");
        assertThat(found("redis_version:unstable\nrole:master\n")).containsPattern("version +NOTE +Redis unstable");
        assertThat(found("redis_version:6.0.20\nrole:master\n")).containsPattern("version +FAILED +Redis 6.0.20");
        assertThat(found("redis_version:8.0-rc1\nrole:slave\n"))
                .containsPattern("version +ok")
                .containsPattern("role +FAILED +a replica");
    }

    private static String found(String info) {
        DoctorCommand doctor = new DoctorCommand();
        doctor.info(new Jedis() {
            @Override
            public String info() {
                return info;
            }
        });
        return doctor.table.toString();
    }
}
