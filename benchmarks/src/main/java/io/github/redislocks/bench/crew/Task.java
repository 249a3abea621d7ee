package io.github.redislocks.bench.crew;

import java.io.Serializable;

/** Something that a worker does, and its answer. */
public interface Task<R extends Serializable> extends Serializable {

    R run(Worker worker) throws Exception;
}
