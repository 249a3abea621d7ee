package io.github.redislocks.apps;

import io.github.redislocks.fixture.OwnServer;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A Redis that is there before the application, and ends after it. */
class OwnRedis implements BeforeAllCallback, AfterAllCallback {

    private static final String PROPERTY = "shop.redis";

    private OwnServer server;

    @Override
    public void beforeAll(ExtensionContext context) {
        String uri = OwnServer.given();
        if (uri == null) {
            server = OwnServer.start();
            uri = server.uri();
        }
        System.setProperty(PROPERTY, uri);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        System.clearProperty(PROPERTY);
        if (server != null) {
            server.close();
        }
    }
}
