package io.github.redislocks.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.redislocks.cli.demo.Ledger.Entry;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rules of the demo's verdict: each must be broken by the one ledger that breaks it. */
class LedgerTest {

    @Test
    void violations_everyItemOnceUnderRisingTokens_none() {
        Ledger ledger = ledger(3, new Entry(7, 1, 3), new Entry(8, 2, 2), new Entry(20, 1, 1));
        assertThat(ledger.violations()).isEmpty();
        assertThat(ledger.oversold()).isZero();
        assertThat(ledger.tokensIncrease()).isTrue();
        assertThat(ledger.soldBy(1)).isEqualTo(2);
        assertThat(ledger.soldBy(3)).isZero();
    }

    @Test
    void violations_moreSalesThanStock_oversold() {
        Ledger ledger = ledger(2, new Entry(7, 1, 3), new Entry(8, 2, 2), new Entry(9, 1, 1));
        assertThat(ledger.oversold()).isEqualTo(1);
        assertThat(ledger.violations()).containsExactly("Oversold: 3 sales of a stock of 2.");
    }

    @Test
    void violations_oneItemTwiceAndAnotherNever_soldTwice() {
        Ledger ledger = ledger(3, new Entry(7, 1, 3), new Entry(8, 2, 3), new Entry(9, 1, 1));
        assertThat(ledger.oversold()).isZero();
        assertThat(ledger.violations())
                .containsExactly("Sold twice: item 3, in entry 1 (process 1) and in entry 2 (process 2).");
    }

    @Test
    void violations_fewerSalesThanStock_notSoldOut() {
        Ledger ledger = ledger(2, new Entry(7, 1, 2));
        assertThat(ledger.violations()).containsExactly("Not sold out: 1 sales of a stock of 2.");
    }

    @Test
    void violations_sameTokenTwice_repeated() {
        Ledger ledger = ledger(3, new Entry(7, 1, 3), new Entry(8, 2, 2), new Entry(8, 3, 1));
        assertThat(ledger.tokensIncrease()).isFalse();
        assertThat(ledger.violations())
                .containsExactly(
                        "Token repeated: entry 3 (process 3) has token 8 after token 8 of entry 2 (process 2).");
    }

    @Test
    void violations_smallerTokenAfterGreater_wentBack() {
        Ledger ledger = ledger(3, new Entry(7, 1, 3), new Entry(9, 2, 2), new Entry(8, 3, 1));
        assertThat(ledger.tokensIncrease()).isFalse();
        assertThat(ledger.violations())
                .containsExactly(
                        "Token went back: entry 3 (process 3) has token 8 after token 9 of entry 2 (process 2).");
    }

    @Test
    void violations_tokensBeyondInt_areCompared() {
        long token = 1L << 52;
        assertThat(ledger(2, new Entry(token, 1, 2), new Entry(token + 1, 1, 1)).violations())
                .isEmpty();
        assertThat(ledger(2, new Entry(token + 1, 1, 2), new Entry(token, 1, 1)).violations())
                .hasSize(1);
    }

    @Test
    void parse_textOfAnEntry_isThatEntry() {
        Entry entry = new Entry(1L << 52, 4, 2000);
        assertThat(Entry.parse(entry.text())).isEqualTo(entry);
    }

    @Test
    void parse_otherText_isRefused() {
        assertThatThrownBy(() -> Entry.parse("7 1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"7 1\"");
    }

    private static Ledger ledger(int stock, Entry... entries) {
        return new Ledger(stock, List.of(entries));
    }
}
