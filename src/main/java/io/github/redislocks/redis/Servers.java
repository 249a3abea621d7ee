package io.github.redislocks.redis;

/**
 * Makes the port to each server of a deployment. An implementation knows the client library, the credentials and the
 * threads.
 */
public interface Servers {

    /** Makes the port to the server at an address, without connecting. */
    SingleServer at(Address address);

    /** The slot of a key in a cluster. */
    int slotOf(String key);
}
