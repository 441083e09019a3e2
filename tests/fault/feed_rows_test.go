package fault

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"gpujoin/tests/harness"
)

// Rows of a child plan are collected and written together. With these columns a
// full batch moves its arrays and takes one more row, which in the sixteenth
// batch is the last collected row.
func TestMovedArraysTakeTheLastRow(t *testing.T) {
	const columns, narrow, rows = 1432, 295, 3000
	w := theWorld(t)
	names := make([]string, columns)
	values := make([]string, columns)
	for i := range columns {
		kind := "int4"
		if i < narrow {
			kind = "int2"
		}
		names[i] = fmt.Sprintf("c%d %s", i, kind)
		values[i] = fmt.Sprintf("(n + %d) %% 1000", i)
	}
	exec(t, w.Witness, fmt.Sprintf(`
		create schema moved; set search_path = moved, public;
		create table wide (k int8 not null, %s);
		insert into wide select n, %s from generate_series(1, %d) n;
		create table narrow as select n::int8 as k from generate_series(1, %[3]d) n;
		analyze wide, narrow`, strings.Join(names, ", "), strings.Join(values, ", "), rows))
	defer exec(t, w.Witness, "drop schema moved cascade; reset search_path")

	var sums []string
	for i := range columns {
		sums = append(sums, fmt.Sprintf("c%d::int8", i))
	}
	sql := "select count(*), sum(w.k), sum((" + strings.Join(sums, " + ") + ") * w.k) from wide w join narrow n on w.k = n.k"
	s := w.proxied(t, serial, "set search_path = moved, public", "set gpujoin.page_row_cost = 1e9")
	plan, err := s.Explain(t.Context(), "analyze, timing off", sql)
	if err != nil || plan.OffloadedJoins() != 1 || !plan.OffloadJoins()[0].FedBy("child") {
		t.Errorf("not one join fed by child plans: %v, %v", plan.OffloadJoins(), err)
	}
	w.right(t, sql, <-ask(s, sql))
	delete(w.Native, sql)
	w.unharmed(t, s)
}

// Only a row that fits no batch makes the join native for good. If a daemon
// disappears while a row with a long value begins a batch, a later scan tries
// it again. Each row is longer than the one before, so that the bytes of a
// value do not fit, and not the row.
func TestALostDaemonIsAskedAgain(t *testing.T) {
	w := theWorld(t)
	const setup = `set search_path = again, public`
	exec(t, w.Witness, `
		create schema again; `+setup+`;
		create table a (k int8, long text, w1 text, w2 text); create table b (k int8);
		alter table a alter long set storage external, alter w1 set storage external, alter w2 set storage external;
		insert into a select n, repeat('l', 70000), repeat('w', 20000 + 1000 * n), repeat('w', 20000 + 1000 * n) from generate_series(1, 40) n;
		insert into b select generate_series(1, 40);
		analyze a, b`)
	defer exec(t, w.Witness, "drop schema again cascade; reset search_path")
	s := w.proxied(t, serial, setup, "set enable_material = off; set enable_memoize = off")
	const scans, rows = 40, 40
	const sql = `select count(*), sum(x.l), sum(x.w) from generate_series(1, 40) g left join
		(select a.k, length(a.long) as l, length(a.w1) + length(a.w2) as w from a join b on a.k = b.k offset 0) x on x.k >= g`
	opens, began := 0, false
	w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
		switch f.Type {
		case harness.MsgOpen:
			opens++
			began = false
		case harness.MsgFilled:
			began = binary.LittleEndian.Uint32(f.Body()[12:]) < rows // a batch of a
		case harness.MsgWant:
			if began {
				return nil, false
			}
		}
		return []*harness.Frame{f}, true
	})
	w.right(t, sql, <-ask(s, sql))
	w.Proxy.Rewrite(nil)
	// A backend pauses after each failure.
	if opens < 2 || opens > scans {
		t.Errorf("%d jobs for %d scans", opens, scans)
	}
	delete(w.Native, sql)
	w.unharmed(t, s)
}
