package io.github.redislocks.redis.topology;

import io.github.redislocks.redis.Address;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** The servers of a deployment, and how the client finds the server to use. */
public sealed interface Topology {

    /** A server at a fixed address. */
    record Single(Address address) implements Topology {

        public Single {
            Objects.requireNonNull(address, "address");
        }
    }

    /**
     * The masters of a cluster.
     *
     * @param nodes the addresses of some nodes; the client finds the others, if one of these replies at the start
     */
    record Cluster(List<Address> nodes) implements Topology {

        public Cluster {
            nodes = List.copyOf(nodes);
            if (nodes.isEmpty()) {
                throw new IllegalArgumentException("There is no node of the cluster: name at least one, better three.");
            }
            refuseTwice("node of the cluster", nodes);
        }
    }

    private static void refuseTwice(String what, List<Address> addresses) {
        Set<Address> seen = new HashSet<>();
        for (Address address : addresses) {
            if (!seen.add(address)) {
                throw new IllegalArgumentException(
                        "The " + what + " " + address + " is named twice: name each of them once.");
            }
        }
    }

    /**
     * A master that Sentinels monitor. The Sentinels name its address.
     *
     * @param masterName the master's name in the Sentinels' configuration
     * @param addresses the addresses of the Sentinels; the client asks no others
     */
    record Sentinel(String masterName, List<Address> addresses) implements Topology {

        public Sentinel {
            addresses = List.copyOf(addresses);
            if (masterName.isBlank()) {
                throw new IllegalArgumentException("The master's name is empty: give the one after \"sentinel monitor\""
                        + " in the configuration of the Sentinels.");
            }
            if (addresses.isEmpty()) {
                throw new IllegalArgumentException(
                        "There is no Sentinel of the master \"" + masterName + "\": name at least one, better all.");
            }
            refuseTwice("Sentinel", addresses);
        }
    }
}
