package io.github.redislocks.bench.crew;

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

/** A place for one: says whether it was empty when somebody came, and still his own when he left. */
public final class Cell {

    private static final VarHandle WORDS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long EMPTY = 0;
    private static final Map<String, Cell> CELLS = new ConcurrentHashMap<>();

    /** Names the cell that a JVM has for itself. */
    public static final String OWN = "own";

    private final ByteBuffer memory;

    private Cell(ByteBuffer memory) {
        this.memory = memory;
    }

    /** The cell of a file, which is mapped once, or the one of this JVM alone, if it has that name. */
    static Cell of(String file) {
        return CELLS.computeIfAbsent(file, name -> name.equals(OWN) ? own() : shared(Path.of(name)));
    }

    /** Makes a cell of this JVM alone. */
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

    /** Enters and leaves at once; returns how often that went wrong. */
    int visit(long visitor) {
        boolean entered = WORDS.compareAndSet(memory, 0, EMPTY, visitor);
        boolean left = WORDS.compareAndSet(memory, 0, visitor, EMPTY);
        return entered && left ? 0 : 1;
    }
}
