package io.github.redislocks.simulation;

/** A stream of random numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014). */
final class Seeded {

    private long state;

    Seeded(long seed) {
        state = seed;
    }

    long next() {
        state += 0x9e3779b97f4a7c15L;
        long z = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    /** Returns a number from 0 to {@code bound} - 1. */
    int below(int bound) {
        return (int) Long.remainderUnsigned(next(), bound);
    }

    /** Returns a number from {@code least} to {@code bound} - 1. */
    long between(long least, long bound) {
        return least + Long.remainderUnsigned(next(), bound - least);
    }

    boolean oneIn(int many) {
        return below(many) == 0;
    }

    <T> T of(T[] values) {
        return values[below(values.length)];
    }

    Seeded another() {
        return new Seeded(next());
    }
}
