/**
 * The unmodified library in a simulation: its threads are virtual threads on a scheduler of the simulation, in virtual
 * time, and threads, time, network and faults follow from one seed. See docs/SIMULATION.md.
 */
package io.github.redislocks.simulation;
