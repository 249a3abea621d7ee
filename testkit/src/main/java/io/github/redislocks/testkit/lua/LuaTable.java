package io.github.redislocks.testkit.lua;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A table: a list of the values whose keys are 1, 2, 3 and so on, and a map for all other keys. */
public final class LuaTable {

    private static final int LEAST = 4;

    private Object[] list;
    /** The number of used elements of the list. The last used element is not nil. */
    private int count;

    private @Nullable Map<Object, Object> map;
    private boolean fixed;
    private boolean strict;

    public LuaTable() {
        this(LuaValues.NONE);
    }

    private LuaTable(Object[] list) {
        this.list = list;
        this.count = list.length;
        trim();
    }

    /** Makes a table of these values. The table keeps the array. */
    public static LuaTable of(Object... values) {
        return new LuaTable(values);
    }

    /** Makes a table of these texts. */
    public static LuaTable of(List<String> texts) {
        return new LuaTable(texts.toArray());
    }

    /** From now on scripts cannot change the table. */
    LuaTable fix() {
        fixed = true;
        return this;
    }

    /** From now on scripts get an error if they read a missing key, as Redis does for globals. */
    void beStrict() {
        strict = true;
    }

    boolean isStrict() {
        return strict;
    }

    boolean isFixed() {
        return fixed;
    }

    public Object get(Object key) {
        if (key instanceof Double number) {
            int index = (int) (double) number;
            if (index == number) {
                return get(index);
            }
        }
        Object value = map == null ? null : map.get(key);
        return value == null ? Nil.NIL : value;
    }

    /** The value whose key is a whole number. */
    public Object get(int index) {
        if (index > 0 && index <= count) {
            return list[index - 1];
        }
        Object value = map == null ? null : map.get((double) index);
        return value == null ? Nil.NIL : value;
    }

    /** Sets the value of a key, which must be neither nil nor NaN. */
    public void set(Object key, Object value) {
        if (key instanceof Double number) {
            int index = (int) (double) number;
            if (index == number) {
                set(index, value);
                return;
            }
        }
        put(key, value);
    }

    void set(int index, Object value) {
        if (index > 0 && index <= count) {
            list[index - 1] = value;
            trim();
        } else if (index == count + 1 && value != Nil.NIL) {
            append(value);
            Object next = taken(count + 1);
            while (next != null) {
                append(next);
                next = taken(count + 1);
            }
        } else {
            put((double) index, value);
        }
    }

    /** Removes the value for a whole number from the map, and returns it; null if there is none. */
    private @Nullable Object taken(int index) {
        return map == null ? null : map.remove((double) index);
    }

    private void append(Object value) {
        if (count == list.length) {
            list = Arrays.copyOf(list, Math.max(LEAST, count * 2));
        }
        list[count++] = value;
    }

    private void put(Object key, Object value) {
        if (value != Nil.NIL) {
            if (map == null) {
                map = new LinkedHashMap<>();
            }
            map.put(key, value);
        } else if (map != null) {
            map.remove(key);
        }
    }

    private void trim() {
        while (count > 0 && list[count - 1] == Nil.NIL) {
            count--;
        }
    }

    /** The length by the operator {@code #}. */
    public int length() {
        return count;
    }

    /** The values whose keys are {@code from} to {@code to}, which may be nil. */
    Object[] range(int from, int to) {
        Object[] values = new Object[Math.max(0, to - from + 1)];
        for (int i = 0; i < values.length; i++) {
            values[i] = get(from + i);
        }
        return values;
    }

    /** The keys that have a value. */
    Object[] keys() {
        Object[] keys = new Object[count + (map == null ? 0 : map.size())];
        int next = 0;
        for (int i = 1; i <= count; i++) {
            if (list[i - 1] != Nil.NIL) {
                keys[next++] = (double) i;
            }
        }
        if (map != null) {
            for (Object key : map.keySet()) {
                keys[next++] = key;
            }
        }
        return Arrays.copyOf(keys, next);
    }

    /** Inserts a value, and moves the values after it up. */
    void insert(int index, Object value) {
        for (int i = count; i >= index; i--) {
            set(i + 1, get(i));
        }
        set(index, value);
    }

    /** Removes a value, and moves the values after it down. */
    Object remove(int index) {
        Object gone = get(index);
        int last = count;
        for (int i = index; i < last; i++) {
            set(i, get(i + 1));
        }
        if (index <= last) {
            set(last, Nil.NIL);
        }
        return gone;
    }
}
