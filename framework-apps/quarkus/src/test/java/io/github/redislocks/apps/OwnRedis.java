package io.github.redislocks.apps;

import io.github.redislocks.fixture.OwnServer;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import java.util.Map;

/** A Redis that is there before the application, and ends after it. */
public class OwnRedis implements QuarkusTestResourceLifecycleManager {

    private OwnServer server;

    @Override
    public Map<String, String> start() {
        String uri = OwnServer.given();
        if (uri == null) {
            server = OwnServer.start();
            uri = server.uri();
        }
        return Map.of("shop.redis", uri);
    }

    @Override
    public void stop() {
        if (server != null) {
            server.close();
        }
    }
}
