package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Contender;
import io.github.redislocks.bench.contender.Setting;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The resources that a JVM has used.
 *
 * @param cpuNanos the processor time of the process so far
 * @param heapBytes the size of the live objects
 * @param libraryBytes the size of the live objects of the contender's own classes
 */
public record Vitals(long cpuNanos, long heapBytes, long libraryBytes) implements Serializable {

    /** Collects the garbage, and measures. */
    public record Look(Contender contender, Setting setting) implements Task<Vitals> {

        @Override
        public Vitals run(Worker worker) throws JMException {
            String library = worker.client(contender, setting).library();
            // Collect twice: caches clean up after the first collection, and leave garbage for the second.
            System.gc();
            System.gc();
            long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
            return new Vitals(Loop.processCpuNanos(), heap, libraryBytes(library));
        }

        /** Reads the class histogram, whose lines are: number, instances, bytes, class. */
        private static long libraryBytes(String library) throws JMException {
            String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "gcClassHistogram",
                            new Object[] {new String[0]},
                            new String[] {String[].class.getName()});
            return histogram
                    .lines()
                    .map(line -> line.strip().split("\\s+"))
                    .filter(words -> words.length > 3 && words[3].startsWith(library))
                    .filter(words -> !words[3].startsWith("io.github.redislocks.bench."))
                    .mapToLong(words -> Long.parseLong(words[2]))
                    .sum();
        }
    }

    /** Returns the processor time of the process so far, without a garbage collection. */
    public record Cpu() implements Task<Long> {

        @Override
        public Long run(Worker worker) {
            return Loop.processCpuNanos();
        }
    }
}
