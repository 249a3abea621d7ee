package io.github.redislocks.cli.demo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The recorded sales in their order, and the rules for them.
 *
 * @param stock the number of items for sale
 */
record Ledger(int stock, List<Entry> entries) {

    /** The token of a sale without the lock. */
    static final long NO_TOKEN = 0;

    Ledger {
        entries = List.copyOf(entries);
    }

    /**
     * A sold item.
     *
     * @param token the fencing token of the hold under which the item was sold
     * @param process the number of the process that sold the item
     * @param item the number of the item: the stock that the seller read
     */
    record Entry(long token, int process, int item) {

        static Entry parse(String text) {
            String[] fields = text.split(" ", -1);
            if (fields.length != 3) {
                throw new IllegalArgumentException("Not an entry of the ledger: \"" + text + "\"");
            }
            return new Entry(Long.parseLong(fields[0]), Integer.parseInt(fields[1]), Integer.parseInt(fields[2]));
        }

        String text() {
            return token + " " + process + " " + item;
        }
    }

    int sold() {
        return entries.size();
    }

    int oversold() {
        return Math.max(0, sold() - stock);
    }

    int soldBy(int process) {
        return (int)
                entries.stream().filter(entry -> entry.process() == process).count();
    }

    boolean tokensIncrease() {
        return firstTokenThatDoesNotIncrease() < 0;
    }

    /** The broken rules. For each, a sentence names the first entry that breaks the rule. */
    List<String> violations() {
        List<String> violations = new ArrayList<>();
        if (oversold() > 0) {
            violations.add("Oversold: " + sold() + " sales of a stock of " + stock + ".");
        } else if (sold() < stock) {
            violations.add("Not sold out: " + sold() + " sales of a stock of " + stock + ".");
        }
        addItemSoldTwice(violations);
        int entry = firstTokenThatDoesNotIncrease();
        if (entry >= 0) {
            Entry before = entries.get(entry - 1);
            Entry after = entries.get(entry);
            violations.add("Token " + (after.token() == before.token() ? "repeated" : "went back") + ": " + at(entry)
                    + " has token " + after.token() + " after token " + before.token() + " of " + at(entry - 1) + ".");
        }
        return violations;
    }

    private void addItemSoldTwice(List<String> violations) {
        Map<Integer, Integer> firstSales = new HashMap<>();
        for (int i = 0; i < entries.size(); i++) {
            Integer first = firstSales.putIfAbsent(entries.get(i).item(), i);
            if (first != null) {
                violations.add("Sold twice: item " + entries.get(i).item() + ", in " + at(Objects.requireNonNull(first))
                        + " and in " + at(i) + ".");
                return;
            }
        }
    }

    private int firstTokenThatDoesNotIncrease() {
        for (int i = 1; i < entries.size(); i++) {
            if (entries.get(i).token() <= entries.get(i - 1).token()) {
                return i;
            }
        }
        return -1;
    }

    private String at(int entry) {
        return "entry " + (entry + 1) + " (process " + entries.get(entry).process() + ")";
    }
}
