package io.github.redislocks.redis;

/** Makes the port to each server of a deployment; knows the client library, the credentials and the threads. */
public interface Servers {

    /** Makes the port to the server at an address, and connects to nothing yet. */
    SingleServer at(Address address);

    /** The slot of a cluster in which a key lies. */
    int slotOf(String key);
}
