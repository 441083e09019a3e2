package fault

import (
	"fmt"
	"strconv"
	"testing"

	"gpujoin/tests/harness"
)

// memoryOf returns the bytes in use of a backend's memory contexts.
func memoryOf(t *testing.T, s *harness.Session) int64 {
	t.Helper()
	n, err := strconv.ParseInt(query(t, s, "select sum(used_bytes) from pg_backend_memory_contexts").Rows[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A join that is rescanned within a statement uses no more memory after ten
// times as many scans, whatever the source of its rows.
func TestRescansTakeNoMemory(t *testing.T) {
	w := theWorld(t)
	const (
		correlated = "select i, (select count(*) from dim d join tiny t on d.k = t.g where d.v <= i % 5) from generate_series(1, 20000) i"
		rewound    = "select i, (select count(*) from (select t.g from dim d join tiny t on d.k = t.g where d.v < 5 offset 0) x where x.g < i) from generate_series(1, 20000) i"
	)
	for _, c := range []struct {
		name, planned, run string // settings for planning and execution
		sql                string
		scans              int   // before the first measurement
		joins              int64 // -1: depends on the time that they take
	}{
		{"fallback", "", "set gpujoin.socket = '/nowhere'", correlated, 200, 0},
		{"switched off", "", "set gpujoin.enabled = off", correlated, 200, 0},
		{"offloaded", "", "", correlated, 10, 100},
		{"offloaded, explained", explained, "", correlated, 10, 100},
		{"tried natively", "", "", correlated, 200, -1},
		{"tried natively, explained", explained, "", correlated, 200, -1},
		{"rewound", "set enable_material = off", "", rewound, 10, 100},
		{"verified", "set gpujoin.verify = on", "", correlated, 30, 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.Session(t, forced, serial, "begin")
			joins := reportOf(t, w.Witness).Totals.Joins
			exec(t, s, c.planned)
			exec(t, s, "declare c no scroll cursor for "+c.sql)
			exec(t, s, c.run)
			query(t, s, fmt.Sprintf("fetch %d from c", c.scans))
			memoryOf(t, s) // its own memory remains allocated
			before := memoryOf(t, s)
			query(t, s, fmt.Sprintf("fetch %d from c", 9*c.scans))
			if grown := memoryOf(t, s) - before; grown > 16<<10 {
				t.Errorf("%d scans more took %d bytes", 9*c.scans, grown)
			}
			exec(t, s, "commit")
			if n := reportOf(t, w.Witness).Totals.Joins - joins; c.joins >= 0 && n != c.joins {
				t.Errorf("%d joins were offloaded instead of %d", n, c.joins)
			}
		})
	}
	settled(t, w.Session(t))
	w.unharmed(t, nil)
}

// explained has every statement explained and analyzed.
const explained = "load 'auto_explain'; set auto_explain.log_min_duration = '10min'; set auto_explain.log_analyze = on; set auto_explain.log_timing = off"

// A verified join of ten times as many rows uses no more memory, except for its
// sorts and the rows that it keeps.
func TestVerifyTakesNoMemoryARow(t *testing.T) {
	w := theWorld(t)
	s := w.Session(t, forced, serial, "set gpujoin.verify = on; set work_mem = '64kB'")
	memory := func(rows int) int64 {
		exec(t, s, fmt.Sprintf("begin; declare c no scroll cursor for "+
			"select f.id, f.note from fact f join dim d on f.k = d.k where f.id <= %d and f.id + d.v > 0 and length(f.note || d.note) > 0", rows))
		query(t, s, "fetch 1 from c")
		defer exec(t, s, "commit")
		return memoryOf(t, s)
	}
	memory(4000)
	before := memory(4000)
	if grown := memory(40000) - before; grown > 256<<10 {
		t.Errorf("36000 rows more took %d bytes", grown)
	}
	w.unharmed(t, s)
}
