package io.github.redislocks.bench.crew;

import io.github.redislocks.bench.contender.Mutex;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A place that shows whether more threads have a lock at once than may. Each visitor takes a part of the room, and a
 * writer all of it.
 */
public final class Cell {

    private static final VarHandle WORDS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final Map<String, Cell> CELLS = new ConcurrentHashMap<>();

    /** The name of a cell that only one JVM uses. */
    public static final String OWN = "own";

    private final ByteBuffer memory;

    private Cell(ByteBuffer memory) {
        this.memory = memory;
    }

    /** Returns the cell of a memory-mapped file, or the cell of this JVM if {@code file} is {@link #OWN}. */
    static Cell of(String file) {
        return CELLS.computeIfAbsent(file, name -> name.equals(OWN) ? own() : shared(Path.of(name)));
    }

    /** Makes a cell that only this JVM uses. */
    static Cell own() {
        return new Cell(ByteBuffer.allocateDirect(Long.BYTES));
    }

    private static Cell shared(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new Cell(channel.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns 1 if there is no room, and enters all the same. */
    int enter(long part) {
        return taken(part) + part > Mutex.ROOM ? 1 : 0;
    }

    /** Returns 1 if another visitor has entered without room meanwhile. */
    int leave(long part) {
        return taken(-part) > Mutex.ROOM ? 1 : 0;
    }

    /** Enters and leaves at once, alone. Returns how often another visitor was in the cell. */
    int visit() {
        return enter(Mutex.ROOM) + leave(Mutex.ROOM);
    }

    /** The room that was taken before. */
    private long taken(long more) {
        return (long) WORDS.getAndAdd(memory, 0, more);
    }
}
