package sidecar

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/shm"
	"gpujoin/sidecar/config"
	"gpujoin/sidecar/executor"
	"gpujoin/sidecar/memory"
	"gpujoin/testsupport/backend"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a daemon under test.
type rig struct {
	t    testing.TB
	srv  *Server
	path string
}

func testOptions(t testing.TB) Options {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var w io.Writer = io.Discard
	if testing.Verbose() {
		w = os.Stderr
	}
	return Options{
		Config: config.Config{
			Socket: filepath.Join(dir, "s"), ExtentSize: 1 << 20, MemoryBudget: 256 << 20, Window: 8, Connections: 64,
			SpoolDir: dir, SpoolLimit: 1 << 30, SpoolAfter: 10 * time.Second,
			HelloTimeout: 10 * time.Second, IdleTimeout: time.Hour, StopTimeout: 10 * time.Second, IdleTrim: time.Hour, Cores: 2, Processors: 3,
		},
		Rates: NewRates(costmodel.TypicalRates, RatesDefault),
		// All clients of a test are one process; each plays another backend.
		peerOf: func(sock *net.UnixConn) (credentials, error) {
			c, err := peerOf(sock)
			c.pid = 0
			return c, err
		},
		Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// start starts a daemon. At the end of the test it must have got back
// everything that was ever handed out.
func start(t *testing.T, change func(*Options), last executor.Last, preferred ...func(*memory.Store) executor.Executor) *rig {
	t.Helper()
	o := testOptions(t)
	if change != nil {
		change(&o)
	}
	if last == nil {
		last = NewLocal(cpu.New(), o.Cores, o.Rates)
	}
	srv, err := Start(o, last, preferred...)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, srv, o.Socket}
	t.Cleanup(func() {
		r.waitIdle()
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if u := srv.spool.Usage(); u.Files != 0 || u.Bytes != 0 {
			t.Errorf("after the stop there is still %+v on disk", u)
		}
		if u := srv.store.Usage(); u.Physical != 0 || u.Extents != 0 {
			t.Errorf("after the stop there is still %+v", u)
		}
	})
	return r
}

// waitIdle waits until nothing is reserved or in use.
func (r *rig) waitIdle() {
	r.t.Helper()
	r.eventually("all memory is given back", func() (bool, string) {
		b, s := r.srv.Usage()
		inUse := s.Physical - s.KeptBlocks - s.Warm
		return b.Reserved == 0 && b.Jobs == 0 && b.Queued == 0 && inUse == 0 && s.Extents == s.Free,
			fmt.Sprintf("%+v %+v", b, s)
	})
}

func (r *rig) eventually(what string, done func() (bool, string)) {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ok, detail := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("waiting until %s: %s", what, detail)
		}
		time.Sleep(time.Millisecond)
	}
}

// dial connects as the backend with the given leader.
func (r *rig) dial(leader int32) *backend.Conn {
	r.t.Helper()
	c, err := backend.Dial(r.path, leader)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func cpuProvider() *cpu.Provider { return cpu.New() }

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// table is an input of a test: int8 key, int8 payload, text payload.
var tableShapes = []shm.ColumnShape{
	{Encoding: shm.EncFixed, Width: 8, Align: 8},
	{Encoding: shm.EncFixed, Width: 8, Align: 8},
	{Encoding: shm.EncVarlena, Align: 4},
}

// resultShapes are those of joinJob's output.
var resultShapes = []shm.ColumnShape{tableShapes[1], tableShapes[1], tableShapes[2]}

func tableRows(n, keys int, side string) [][]backend.Value {
	rows := make([][]backend.Value, n)
	for i := range rows {
		rows[i] = []backend.Value{backend.Int64(int64(i % keys)), backend.Int64(int64(i)), backend.Varlena(fmt.Sprint(side, i), 4)}
		if i%7 == 3 {
			rows[i][2] = nil
		}
		if i%11 == 5 {
			rows[i][0] = nil
		}
	}
	return rows
}

const jobColumns = `[
 {"attnum":1,"type":20,"typmod":-1,"collation":0,"role":"value","encoding":"fixed","width":8,"align":8},
 {"attnum":2,"type":20,"typmod":-1,"collation":0,"role":"value","encoding":"fixed","width":8,"align":8},
 {"attnum":3,"type":25,"typmod":-1,"collation":100,"role":"value","encoding":"varlena","width":0,"align":4}]`

// joinJob joins two tables on their keys; rows are the planner's estimates.
func joinJob(left, right, out int) []byte {
	input := func(name string, rows int) string {
		return fmt.Sprintf(`{"database":1,"relation":2,"name":%q,"feed":"page","rows":%d,"row_bytes":32,"columns":%s}`, name, rows, jobColumns)
	}
	return fmt.Appendf(nil, `{"version":3,"static":{"inputs":[%s,%s],"root":{"op":"project",
	 "columns":[{"input":0,"column":1},{"input":1,"column":1},{"input":1,"column":2}],
	 "child":{"op":"join","kind":"inner","rows":%d,"left":{"op":"scan","input":0},"right":{"op":"scan","input":1},
	  "keys":[{"left":{"input":0,"column":0},"right":{"input":1,"column":0},"class":"int"}]}}},
	 "runtime":{"generation":1,"parameters":[],"snapshot":"","lsn":""}}`, input("l", left), input("r", right), out)
}

// joined feeds both inputs of a join job, runs it and returns its rows.
func joined(t testing.TB, c *backend.Conn, open shm.Open, job []byte, rows [][]backend.Value) [][]backend.Value {
	t.Helper()
	_, err := c.Open(open, job)
	must(t, err)
	must(t, c.Feed(0, tableShapes, rows, 0))
	must(t, c.Feed(1, tableShapes, rows, 0))
	must(t, c.Fed(shm.Fed{}))
	must(t, c.Run(1))
	got, err := c.Drain(resultShapes, 2)
	must(t, err)
	return got
}

// joinOf is the expected result, as sorted lines.
func joinOf(left, right [][]backend.Value) []string {
	byKey := map[string][]int{}
	for i, r := range right {
		if r[0] != nil {
			byKey[string(r[0])] = append(byKey[string(r[0])], i)
		}
	}
	var rows [][]backend.Value
	for _, l := range left {
		if l[0] == nil {
			continue
		}
		for _, i := range byKey[string(l[0])] {
			rows = append(rows, []backend.Value{l[1], right[i][1], right[i][2]})
		}
	}
	return lines(rows)
}

func lines(rows [][]backend.Value) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		parts := make([]string, len(r))
		for k, v := range r {
			parts[k] = fmt.Sprintf("%x", []byte(v))
			if v == nil {
				parts[k] = "NULL"
			}
		}
		out[i] = strings.Join(parts, "|")
	}
	sort.Strings(out)
	return out
}

func sameRows(t *testing.T, got [][]backend.Value, want []string) {
	t.Helper()
	have := lines(got)
	if !slices.Equal(have, want) {
		n := 0
		for n < min(len(have), len(want)) && have[n] == want[n] {
			n++
		}
		t.Fatalf("%d rows, %d expected; the first difference is at %d", len(have), len(want), n)
	}
}

// Usage returns snapshots of the memory budget and the store.
func (srv *Server) Usage() (memory.BudgetUsage, memory.StoreUsage) {
	return srv.budget.Usage(), srv.store.Usage()
}
