package io.github.redislocks.apps;

import io.github.redislocks.spring.FencingToken;
import io.github.redislocks.spring.Locked;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** A stock in a database, which is sold under a lock. */
@Service
public class Stock {

    private final JdbcTemplate database;

    Stock(JdbcTemplate database) {
        this.database = database;
    }

    /** Reads the number, adds one, and writes it. The database refuses the write of a holder with an old token. */
    @Transactional
    @Locked("stock:#{#sku}")
    public void sell(String sku, @FencingToken long token) {
        int sold = sold(sku);
        int rows = database.update(
                "UPDATE stock SET sold = ?, fence = ? WHERE sku = ? AND fence <= ?", sold + 1, token, sku, token);
        if (rows != 1) {
            throw new IllegalStateException("a later holder was here before");
        }
    }

    /** The number of sold items. */
    public int sold(String sku) {
        Integer sold = database.queryForObject("SELECT sold FROM stock WHERE sku = ?", Integer.class, sku);
        return sold == null ? -1 : sold;
    }
}
