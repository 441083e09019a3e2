package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gpujoin/tests/harness"
)

// free makes an offloaded join cost only its scans, whether or not the daemon keeps the tables
// of other tests by now, and lose by a recognisable
// startup cost.
var free = []string{
	"set max_parallel_workers_per_gather = 0", "set gpujoin.min_rows = 0", "set gpujoin.explain_rejected = on",
	"set gpujoin.startup_cost = 1e9", "set gpujoin.cost_margin = 0", "set gpujoin.ns_cost = 0", "set gpujoin.estimate_native = off",
	"set gpujoin.page_row_cost = 0", "set gpujoin.page_column_cost = 0", "set gpujoin.page_walk_cost = 0",
	"set gpujoin.child_row_cost = 0", "set gpujoin.child_column_cost = 0",
	"set gpujoin.return_row_cost = 0", "set gpujoin.return_column_cost = 0", "set gpujoin.keep = off",
}

// jobCost returns the cost of the job of a query's only join.
func jobCost(t *testing.T, s *harness.Session, sql string) float64 {
	t.Helper()
	s.Notices()
	query(t, s, "explain "+sql)
	for _, n := range s.Notices() {
		if m := regexp.MustCompile(`offloaded cost (\d+\.\d\d)\.$`).FindStringSubmatch(n); m != nil {
			cost, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			return cost
		}
	}
	t.Fatalf("%s: no cost in the notices", sql)
	return 0
}

// nativeTime returns the time that a query's native plan is expected to take, in
// the unit of the job's, which must not depend on the query.
func nativeTime(t *testing.T, s *harness.Session, sql string) float64 {
	t.Helper()
	s.Notices()
	query(t, s, "explain "+sql)
	m := regexp.MustCompile(`native cost ([\d.]+), offloaded cost (\d+\.\d\d)[.)]`).FindStringSubmatch(strings.Join(s.Notices(), "\n"))
	if m == nil {
		t.Fatalf("%s: no costs in the notices", sql)
	}
	native, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	offloaded, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	return native / offloaded
}

// A page feed walks over the columns up to the last one that it reads, except
// leading columns with a fixed offset.
func TestWalkCost(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, free...)
	const rows = 1000
	exec(t, s, fmt.Sprintf(`create table walked (k int not null, f1 int not null, f2 int8 not null, n3 int, n4 int, v5 text, n6 int, n7 int);
		insert into walked select g, g, g, g, g, g, g, g from generate_series(1, %d) g;
		create table one as select 1 as k;
		analyze walked, one`, rows))
	for _, c := range []struct {
		sql    string
		walked int
	}{
		{"select w.f1 from walked w join one using (k)", 0},
		{"select w.f2 from walked w join one using (k)", 0},
		{"select w.n3 from walked w join one using (k)", 1},
		{"select w.n7 from walked w join one using (k)", 5},
		{"select w.f1 from walked w join one using (k) where w.n6 > 0", 4},
		{"select w.n7, w.n3 from walked w join one using (k) where w.f1 > 0", 5},
	} {
		without := jobCost(t, s, c.sql)
		// So low that the page feed stays cheaper than the child plan.
		const price = 0.001
		exec(t, s, fmt.Sprintf("set gpujoin.page_walk_cost = %v", price))
		// The other table has one row, of which one column is walked to.
		if got, want := jobCost(t, s, c.sql)-without, price*float64(rows*c.walked+1); math.Abs(got-want) > 0.02 {
			t.Errorf("%s: walks cost %v, not %v", c.sql, got, want)
		}
		exec(t, s, "set gpujoin.page_walk_cost = 0")
	}
}

// The margin applies to all costs but the scans' own.
func TestCostMargin(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, free...)
	const sql = "select f.id from fact f join dim d using (k)"
	exec(t, s, "set gpujoin.startup_cost = 1e6")
	scans := jobCost(t, s, sql) - 1e6
	exec(t, s, "set gpujoin.page_row_cost = 1; set gpujoin.child_row_cost = 1; set gpujoin.return_row_cost = 1")
	own := jobCost(t, s, sql) - scans
	if own < 1e6+60000 {
		t.Fatalf("feeding and returning cost only %v", own-1e6)
	}
	exec(t, s, "set gpujoin.cost_margin = 0.5")
	if got, want := jobCost(t, s, sql), scans+1.5*own; math.Abs(got-want) > 1 {
		t.Errorf("with a margin of one half the job costs %v, not %v", got, want)
	}
}

// A result with a small estimate is charged for returning a larger one.
func TestReturnOfSmallEstimates(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, free...)
	exec(t, s, `create table wide_range as select g as k, g as v from generate_series(1, 10000) g;
		create table narrow as select g * 100 as k from generate_series(1, 100) g;
		analyze wide_range, narrow`)
	for _, c := range []struct {
		sql          string
		rows, inputs float64
	}{
		{"select r.v from wide_range r join narrow n using (k)", 100, 10100},
		{"select r.v from wide_range r join wide_range n using (k)", 10000, 20000},
	} {
		without := jobCost(t, s, c.sql)
		exec(t, s, "set gpujoin.return_row_cost = 1")
		want := math.Max(c.rows, math.Sqrt(c.rows*c.inputs))
		if got := jobCost(t, s, c.sql) - without; math.Abs(got-want) > want/20 {
			t.Errorf("%s: returning costs %v, not %v", c.sql, got, want)
		}
		exec(t, s, "set gpujoin.return_row_cost = 0")
	}
}

// The daemon's work costs more with more jobs for its threads, and if they get
// less processor time than a backend.
func TestLoadCost(t *testing.T) {
	w := theWorld(t)
	status, err := os.ReadFile(w.Cluster.DaemonSocket() + ".status")
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(w.Cluster.Sock, "loaded")
	file, err := os.OpenFile(fake+".status", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
			t.Error(err)
		}
	})
	const setLockOFD = 37 // F_OFD_SETLK: a living daemon holds such a lock
	if err := syscall.FcntlFlock(file.Fd(), setLockOFD, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	const coresOffset, loadOffset, timeOffset, checked = 12, 304, 24, 40 // docs/internals/protocol.md
	binary.LittleEndian.PutUint32(status[coresOffset:], 8)
	// cost returns the cost of the daemon's work under this load; beats 0: unknown.
	s := w.Session(t, append(slices.Clone(free), fmt.Sprintf("set gpujoin.socket = '%s'", fake))...)
	cost := func(beats uint64, running, threads, queued, share uint32) float64 {
		load := binary.LittleEndian.AppendUint64(nil, beats)
		for _, v := range []uint32{running, threads, queued, share} {
			load = binary.LittleEndian.AppendUint32(load, v)
		}
		load = append(load, status[loadOffset+timeOffset:][:checked-timeOffset]...) // when the real daemon wrote it, and what it keeps
		sum := fnv.New64a()
		sum.Write(load)
		copy(status[loadOffset:], binary.LittleEndian.AppendUint64(load[:checked], sum.Sum64()))
		if _, err := file.WriteAt(status, 0); err != nil {
			t.Fatal(err)
		}
		const sql = "select f.id from fact f join dim d using (k)"
		exec(t, s, "set gpujoin.ns_cost = 0")
		without := jobCost(t, s, sql)
		exec(t, s, "set gpujoin.ns_cost = 1")
		return jobCost(t, s, sql) - without
	}
	idle := cost(1, 0, 8, 0, 1000)
	if idle < 1000 {
		t.Fatalf("the daemon's work costs %v", idle)
	}
	for _, c := range []struct {
		name   string
		factor float64
		got    float64
	}{
		{"unknown load", 1, cost(0, 9, 8, 9, 0)},
		{"one join runs, or ran a moment ago", 1, cost(1, 1, 8, 0, 1000)},
		{"two joins run, one job waits", 3, cost(1, 2, 8, 1, 1000)},
		{"half of the threads", 2, cost(1, 0, 4, 0, 1000)},
		{"a daemon that got little processor time", 1, cost(1, 0, 8, 0, 250)},
	} {
		if math.Abs(c.got/idle-c.factor) > 0.01 {
			t.Errorf("%s: %v times the cost, not %v", c.name, c.got/idle, c.factor)
		}
	}
}

// An offloaded join's cost is its native path's, multiplied by the ratio of the
// times of both, which core's costs of a row and a page do not change.
func TestCostFollowsNativeCost(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, free...)
	const sql = "select f.id from fact f join dim d using (k)"
	set := func(factor float64) {
		exec(t, s, fmt.Sprintf("set seq_page_cost = %v; set cpu_tuple_cost = %v; set cpu_operator_cost = %v",
			factor, 0.01*factor, 0.0025*factor))
	}
	exec(t, s, "set gpujoin.estimate_native = on")
	set(1)
	one := jobCost(t, s, sql)
	set(3)
	if three := jobCost(t, s, sql); math.Abs(three/one-3) > 0.01 {
		t.Errorf("with a native plan of three times the cost the job costs %v, not 3 * %v", three, one)
	}
	exec(t, s, "set gpujoin.estimate_native = off")
	if alone := jobCost(t, s, sql); math.Abs(alone/1e9-1) > 0.01 {
		t.Errorf("the job's own cost is %v", alone)
	}
}

// The daemon's result of a join by two columns is expected to have a row for
// each reference to a unique key, and fewer if no index promises that.
func TestRowsOfJoinsByTwoColumns(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, "set gpujoin.debug_force = on", "set max_parallel_workers_per_gather = 0")
	exec(t, s, `create table referred as select g as a, g * 7 as b, g as v from generate_series(1, 10000) g;
		create table referring as select a, b, v from referred;
		analyze referred, referring`)
	rows := func() string {
		t.Helper()
		plan := strings.Join(query(t, s, "explain select l.v, r.v from referring l join referred r using (a, b)").Rows, "\n")
		m := regexp.MustCompile(`Join: .* rows=(\d+)`).FindStringSubmatch(plan)
		if m == nil {
			t.Fatalf("no join in:\n%s", plan)
		}
		return m[1]
	}
	if got := rows(); got != "100" {
		t.Errorf("without an index %s rows are expected, not 100", got)
	}
	exec(t, s, "create unique index on referred (a, b)")
	if got := rows(); got != "10000" {
		t.Errorf("with a unique index %s rows are expected, not 10000", got)
	}
	exec(t, s, "alter table referred add unique (a, b); alter table referring add foreign key (a, b) references referred (a, b)")
	if got := rows(); got != "10000" {
		t.Errorf("with a foreign key %s rows are expected, not 10000", got)
	}
}

// The time of an index scan is estimated from statistics: planning with gpujoin reads no
// page of an index that PostgreSQL does not read.
func TestPlanningReadsNoIndex(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t)
	exec(t, s, `create table chosen as select g * 100 as k from generate_series(1, 10) g;
		create table probed as select (g::int8 / 20 * 7919 % 10000)::int as k, g as v from generate_series(0, 199999) g;
		create index probed_k on probed (k); analyze chosen, probed`)
	read := map[string]string{}
	for _, enabled := range []string{"off", "on"} {
		s := w.Session(t, append(slices.Clone(free), "set gpujoin.estimate_native = on", "set enable_hashjoin = off",
			"set enable_mergejoin = off", "set enable_bitmapscan = off", "set random_page_cost = 0.01",
			"set gpujoin.enabled = "+enabled, "begin")...)
		query(t, s, "explain select sum(p.v) from probed p join chosen using (k)")
		read[enabled] = query(t, s, "select pg_stat_get_xact_blocks_fetched('probed_k'::regclass)").Rows[0]
	}
	if read["on"] != read["off"] {
		t.Errorf("%s pages of the index were read, %s without gpujoin", read["on"], read["off"])
	}
}

// Of keys that have more different values than the inner column, only some find
// rows by an index, also below a join. A condition may select just these keys.
func TestProbesOfMissingKeys(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, append(slices.Clone(free), "set gpujoin.estimate_native = on",
		"set enable_hashjoin = off", "set enable_mergejoin = off", "set enable_bitmapscan = off",
		"set enable_material = off", "set enable_memoize = off", "set random_page_cost = 0.01", "set seq_page_cost = 0.01")...)
	exec(t, s, `create table probed as select g % 1000 * 10 as k, g % 100 as c, g as v from generate_series(1, 20000) g;
		create table code as select g as c from generate_series(0, 99) g;
		create table found as select g % 1000 * 10 as k, g as v from generate_series(1, 10000) g;
		create table missed as select g as k, g as v from generate_series(1, 10000) g;
		create index on probed (k); create unique index on code (c);
		analyze probed, code, found, missed`)
	for _, c := range []struct {
		name, sql string
		fewer     bool
	}{
		{"rows", "select p.v from %s o join probed p using (k)", true},
		{"rows of a join", "select o.v from %s o where not exists (select from probed p join code using (c) where p.k = o.k)", true},
		{"rows with keys that a condition selects", "select p.v from %s o join probed p using (k) where o.v > 0", false},
	} {
		found := nativeTime(t, s, fmt.Sprintf(c.sql, "found"))
		missed := nativeTime(t, s, fmt.Sprintf(c.sql, "missed"))
		if fewer := missed < 0.5*found; fewer != c.fewer {
			t.Errorf("%s: probes that find rows are expected to take %v times as long as others", c.name, found/missed)
		}
	}
}

// A native path may owe its cost to a job below it that saves much time. A larger
// job that is expected to take longer than that path does not look cheaper.
func TestLargerJobIsSlower(t *testing.T) {
	w := newWorld(t)
	s := w.Session(t, append(slices.Clone(free), "set gpujoin.estimate_native = on", "set gpujoin.startup_cost = 1", "set gpujoin.cached_page_cost = 0.1",
		"set seq_page_cost = 0.1", "set random_page_cost = 0.1", "set cpu_tuple_cost = 0.001",
		"set cpu_index_tuple_cost = 0.0005", "set cpu_operator_cost = 0.00025")...)
	// One row of the two columns' join is expected by PostgreSQL, many by the extension.
	exec(t, s, `create table referred as select g as a, g * 7 as b, g as v from generate_series(1, 20000) g;
		create table referring as select a, b, v from referred;
		create table large as select g as id, g as v from generate_series(1, 500000) g;
		create index on large (id);
		analyze referred, referring, large`)
	const sql = "select l.v, x.v from referring l join referred r using (a, b) join large x on x.id = l.v"
	for _, c := range []struct {
		row  string // cost of feeding one
		want int    // joins of the job
	}{{"0.001", 1}, {"0.0001", 2}} {
		exec(t, s, "set gpujoin.page_row_cost = "+c.row)
		plan := explain(t, s, "", sql)
		jobs := plan.OffloadJoins()
		if len(jobs) != 1 || len(jobs[0].Joins()) != c.want {
			t.Errorf("feeding a row costs %s: not one job of %d joins:\n%s", c.row, c.want,
				strings.Join(query(t, s, "explain "+sql).Rows, "\n"))
		}
	}
}
