# Functions for scripts that try an installed gpujoin. The script has the functions sql, which
# runs psql with further arguments in a database that has the extension, and fail.
# To be sourced, not run.
# shellcheck shell=sh

join="SELECT count(*), sum(o.amount * c.factor) FROM orders o JOIN customers c USING (customer)"

# make_tables: those that the query reads; $expected is its native result.
make_tables() {
    sql -c "CREATE TABLE customers AS SELECT i AS customer, i % 7 AS factor FROM generate_series(1, 2000) i" \
        -c "CREATE TABLE orders AS SELECT i AS id, i % 3000 AS customer, i % 100 AS amount FROM generate_series(1, 200000) i" \
        -c "ANALYZE"
    expected=$(sql -c "SET gpujoin.enabled = off" -c "$join")
}

# offloaded WHEN: the query runs in the daemon and has the native result.
offloaded() {
    plan=$(sql -c "SET gpujoin.min_rows = 0" -c "SET gpujoin.debug_force = on" -c "EXPLAIN (ANALYZE, COSTS OFF) $join")
    case $plan in
    *Fallback*) fail "$1: the query fell back to the native plan: $plan" ;;
    *"Custom Scan (Offload"*) ;;
    *) fail "$1: the query is not offloaded: $plan" ;;
    esac
    [ "$(sql -c "SET gpujoin.min_rows = 0" -c "SET gpujoin.debug_force = on" -c "$join")" = "$expected" ] ||
        fail "$1: the offloaded query has another result"
}
