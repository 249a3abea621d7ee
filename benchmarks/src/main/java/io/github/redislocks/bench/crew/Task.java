package io.github.redislocks.bench.crew;

import java.io.Serializable;

/** A task for a worker, which returns an answer. */
public interface Task<R extends Serializable> extends Serializable {

    R run(Worker worker) throws Exception;
}
