package sidecar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/joincore"
	"gpujoin/shm"
	"gpujoin/sidecar/foreign"
	"gpujoin/testsupport/backend"
)

// fakePins are positions of a foreign server whose only table has some rows.
type fakePins struct {
	rows   [][]backend.Value
	direct bool
	hangs  bool  // a read lasts until its job ends
	err    error // of reads

	mu    sync.Mutex
	held  int
	reads []foreign.Read
}

const fakeToken = "00112233445566778899aabbccddeeff"

func (f *fakePins) find(token string, _ foreign.Peer) (mirrorPin, error) {
	if token != fakeToken {
		return nil, errors.New("the position is not known")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held++
	return f, nil
}

func (f *fakePins) Direct(string, string) bool { return f.direct }

func (f *fakePins) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held--
}

// Read returns the rows in the job's extents.
func (f *fakePins) Read(ctx context.Context, r foreign.Read) (*foreign.Rows, error) {
	f.mu.Lock()
	f.reads = append(f.reads, r)
	f.mu.Unlock()
	if f.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	out := &foreign.Rows{Total: int64(len(f.rows))}
	var shapes []shm.ColumnShape
	for _, c := range r.Columns {
		shapes = append(shapes, shapeOf(c.Physical))
		out.Relation.Columns = append(out.Relation.Columns, c.Physical)
	}
	rows := f.rows
	if r.Sample != nil {
		rows = rows[:min(r.Sample.Rows, int64(len(rows)))]
	}
	for len(rows) > 0 {
		e, err := r.Extent()
		if err != nil {
			return nil, err
		}
		n, err := backend.Fill(e, shapes, rows, 1000)
		if err != nil {
			return nil, err
		}
		view, err := shm.ReadBatch(e, shapes)
		if err != nil {
			return nil, err
		}
		seg := joincore.Segment{Rows: n}
		for _, c := range view.Columns {
			seg.Columns = append(seg.Columns, joincore.Vector{Values: c.Values, Validity: c.Validity, Heap: c.Heap})
		}
		out.Relation.Segments = append(out.Relation.Segments, seg)
		out.Bytes += view.Bytes()
		rows = rows[n:]
	}
	return out, nil
}

// seen returns the reads so far, and how many jobs hold the position.
func (f *fakePins) seen() ([]foreign.Read, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reads), f.held
}

// released waits until no job holds the position.
func (f *fakePins) released(r *rig) {
	r.t.Helper()
	r.eventually("pins are released", func() (bool, string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.held == 0, fmt.Sprint(f.held)
	})
}

// startMirrors starts a daemon that knows a foreign server.
func startMirrors(t *testing.T, f *fakePins) *rig {
	return start(t, func(o *Options) { o.pinOf = f.find }, nil)
}

// mirrorOf makes the last input of joinJob a mirrored one; condition is that of its `kept`.
func mirrorOf(job []byte, condition string) []byte {
	text := string(job)
	at := strings.LastIndex(text, `{"database":1`)
	end := at + strings.Index(text[at:], `,"root"`) - 2
	input := strings.ReplaceAll(text[at:end], `,"role"`, `,"form":0,"scale":0,"role"`)
	input = strings.Replace(input, `"feed":"page"`, `"feed":"mirror"`, 1)
	tokens := `"` + fakeToken + `"`
	if at > strings.Index(text, `{"database":1`) {
		tokens = "null," + tokens
	}
	rest := strings.Replace(text[end:], `"generation"`, `"mirrors":[`+tokens+`],"generation"`, 1)
	return []byte(text[:at] + input + `,"kept":{"hidden":0` + condition + `},"mirror":{"schema":"s","table":"t","columns":["k","n","t"],"text":[2]}` + rest)
}

// scanJob returns the rows of a mirrored table.
func scanJob(rows int, condition string) []byte {
	job := fmt.Appendf(nil, `{"version":3,"static":{"inputs":[{"database":1,"relation":2,"name":"t","feed":"page","rows":%d,"row_bytes":32,"columns":%s}],"root":{"op":"project",
	 "columns":[{"input":0,"column":0},{"input":0,"column":1},{"input":0,"column":2}],"child":{"op":"scan","input":0}}},
	 "runtime":{"generation":1,"parameters":[],"snapshot":"","lsn":""}}`, rows, jobColumns)
	return mirrorOf(job, condition)
}

// run runs a job that nobody feeds, and returns its rows.
func runMirrors(t *testing.T, c *backend.Conn, generation uint32, shapes []shm.ColumnShape) [][]backend.Value {
	t.Helper()
	must(t, c.Run(generation))
	got, err := c.Drain(shapes, 2)
	must(t, err)
	return got
}

func filterRows(rows [][]backend.Value, keep func([]backend.Value) bool) (out [][]backend.Value) {
	for _, r := range rows {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// TestScanOfMirror: a job without a join or an aggregate returns the rows of a table, with all columns,
// however many batches they take, and evaluates conditions.
func TestScanOfMirror(t *testing.T) {
	for _, rows := range []int{0, 1, 60000} {
		f := &fakePins{rows: tableRows(rows, 100, "text")}
		r := startMirrors(t, f)
		for condition, keep := range map[string]func([]backend.Value) bool{
			"": func([]backend.Value) bool { return true },
			`,"condition":{"compare":"<","left":{"column":{"input":0,"column":0}},"right":{"int":7}}`: func(v []backend.Value) bool { return v[0] != nil && v[0][0] < 7 },
			`,"condition":{"is_null":{"column":{"input":0,"column":2}}}`:                              func(v []backend.Value) bool { return v[2] == nil },
			`,"condition":{"like":{"column":{"input":0,"column":2}},"pattern":"7465787431","encoding":"utf8"}`: func(v []backend.Value) bool {
				return v[2] != nil && bytes.Equal(v[2], backend.Varlena("text1", 4))
			},
		} {
			c := r.dial(1)
			_, err := c.Open(shm.Open{}, scanJob(rows, condition))
			must(t, err)
			got := runMirrors(t, c, 1, tableShapes)
			sameRows(t, got, lines(filterRows(f.rows, keep)))
			stats, err := c.Stats()
			must(t, err)
			if stats.RowsIn != uint64(rows) || stats.RowsOut != uint64(len(got)) || len(stats.JoinList) != 0 {
				t.Errorf("%d rows in, %d out, of %d and %d", stats.RowsIn, stats.RowsOut, rows, len(got))
			}
			c.Close()
		}
		f.released(r)
		reads, _ := f.seen()
		if read := reads[0]; read.Schema != "s" || read.Table != "t" || len(read.Columns) != 3 || read.Columns[1].Name != "n" ||
			!read.Columns[2].Text || read.Columns[1].Text || read.Columns[2].Type != 25 || read.Sample != nil {
			t.Errorf("%+v", read)
		}
	}
}

// TestFewColumnsOfMirror: one column of 8-byte alignment, and none at all of others.
func TestFewColumnsOfMirror(t *testing.T) {
	rows := [][]backend.Value{{backend.Varlena("a", 8)}, {nil}, {backend.Varlena(strings.Repeat("long", 40), 8)}, {backend.Varlena("", 8)}}
	f := &fakePins{rows: rows}
	r := startMirrors(t, f)
	job := bytes.Replace(scanJob(4, ""), []byte(`{"attnum":1,"type":20,"typmod":-1,"collation":0,"form":0,"scale":0,"role":"value","encoding":"fixed","width":8,"align":8},
 {"attnum":2,"type":20,"typmod":-1,"collation":0,"form":0,"scale":0,"role":"value","encoding":"fixed","width":8,"align":8},`), nil, 1)
	job = bytes.Replace(job, []byte(`"width":0,"align":4`), []byte(`"width":0,"align":8`), 1)
	job = bytes.Replace(job, []byte(`["k","n","t"],"text":[2]`), []byte(`["t"],"text":[]`), 1)
	job = bytes.Replace(job, []byte(`,{"input":0,"column":1},{"input":0,"column":2}]`), []byte(`]`), 1)
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, job)
	must(t, err)
	sameRows(t, runMirrors(t, c, 1, []shm.ColumnShape{{Encoding: shm.EncVarlena, Align: 8}}), lines(rows))
}

// TestJoinWithMirror: a fed input is joined with a mirrored one; another run does not read that again.
func TestJoinWithMirror(t *testing.T) {
	f := &fakePins{rows: tableRows(3000, 100, "r"), direct: true}
	r := startMirrors(t, f)
	left := tableRows(200, 100, "l")
	c := r.dial(1)
	_, err := c.Open(shm.Open{Flags: shm.OpenRewind}, mirrorOf(joinJob(200, 3000, 6000), ""))
	must(t, err)
	must(t, c.Feed(0, tableShapes, left, 0))
	must(t, c.Fed(shm.Fed{}))
	for generation := range uint32(3) {
		sameRows(t, runMirrors(t, c, generation+1, resultShapes), joinOf(left, f.rows))
	}
	stats, err := c.Stats()
	must(t, err)
	if reads, held := f.seen(); len(reads) != 1 || stats.RowsIn != 3200 || held != 1 || stats.BytesIn == 0 {
		t.Errorf("%d reads, %d rows in, %d held", len(reads), stats.RowsIn, held)
	}
	c.Close()
	f.released(r)
}

// TestFilterOfMirror: the keys of a mirrored input filter those that are fed.
func TestFilterOfMirror(t *testing.T) {
	f := &fakePins{rows: tableRows(40, 40, "r")}
	r := startMirrors(t, f)
	job := mirrorOf(joinJob(8000, 40, 1000), `,"condition":{"compare":"<","left":{"column":{"input":1,"column":0}},"right":{"int":20}}`)
	job = bytes.Replace(job, []byte(`"root":`), []byte(`"filters":[{"source":{"input":1,"column":0},"target":{"input":0,"column":0}}],"root":`), 1)
	large := tableRows(8000, 1000, "l")
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, job)
	must(t, err)
	must(t, c.InputFed(1))
	view, e, err := c.Filter(0)
	must(t, err)
	if view == nil {
		t.Fatal("there is no filter")
	}
	left := passing(view, large)
	must(t, c.Release(e))
	if len(left) < 100 || len(left) > 300 {
		t.Errorf("%d rows pass", len(left))
	}
	must(t, c.Feed(0, tableShapes, left, 0))
	must(t, c.Fed(shm.Fed{}))
	below := filterRows(f.rows, func(v []backend.Value) bool { return v[0] != nil && v[0][0] < 20 })
	sameRows(t, runMirrors(t, c, 1, resultShapes), joinOf(large, below))
	if reads, _ := f.seen(); len(reads) != 1 {
		t.Errorf("%d reads", len(reads))
	}
	c.Close()
	f.released(r)
}

// TestSampleOfMirror: of all rows, some are returned and all are counted.
func TestSampleOfMirror(t *testing.T) {
	f := &fakePins{rows: tableRows(5000, 100, "r")}
	r := startMirrors(t, f)
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, bytes.Replace(scanJob(5000, ""), []byte(`"mirrors":`), []byte(`"sample":{"rows":300,"seed":5},"mirrors":`), 1))
	must(t, err)
	got := runMirrors(t, c, 1, tableShapes)
	stats, err := c.Stats()
	must(t, err)
	if reads, _ := f.seen(); len(got) != 300 || stats.RowsIn != 5000 || *reads[0].Sample != (foreign.Sample{Rows: 300, Seed: 5}) {
		t.Errorf("%d rows of %d, %+v", len(got), stats.RowsIn, reads[0].Sample)
	}
}

// TestMirrorFailures: what prevents a read fails the job, once, with the reason.
func TestMirrorFailures(t *testing.T) {
	many := make([][]backend.Value, 3000)
	for i := range many {
		many[i] = []backend.Value{nil, nil, backend.Varlena(strings.Repeat("x", 200<<10), 4)}
	}
	for name, c := range map[string]struct {
		pins *fakePins
		code shm.Failure
	}{
		"the source":  {&fakePins{err: errors.New("the source is gone")}, shm.FailProvider},
		"no form":     {&fakePins{err: fmt.Errorf("%w: a value", joincore.ErrUnsupported)}, shm.FailUnsupported},
		"much memory": {&fakePins{rows: many, direct: true}, shm.FailBudget},
	} {
		t.Run(name, func(t *testing.T) {
			r := startMirrors(t, c.pins)
			conn := r.dial(1)
			_, err := conn.Open(shm.Open{}, scanJob(10, ""))
			must(t, err)
			err = conn.Run(1)
			wantFailure(t, err, c.code)
			if c.pins.err != nil && !strings.Contains(err.Error(), c.pins.err.Error()) {
				t.Errorf("%v", err)
			}
			conn.Close()
			c.pins.released(r)
		})
	}
}

// TestUnknownPosition: a job of a position that does not exist is refused.
func TestUnknownPosition(t *testing.T) {
	f := &fakePins{}
	r := startMirrors(t, f)
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, bytes.Replace(scanJob(10, ""), []byte(fakeToken), []byte("ff"), 1))
	wantFailure(t, err, shm.FailProvider)
	if !strings.Contains(err.Error(), "position is not known") {
		t.Errorf("%v", err)
	}
	none := start(t, nil, nil).dial(1)
	_, err = none.Open(shm.Open{}, scanJob(10, ""))
	wantFailure(t, err, shm.FailSource)
}

// TestAbandonedRead: a job that ends while it reads ends the read, and gives its position back.
func TestAbandonedRead(t *testing.T) {
	f := &fakePins{hangs: true, direct: true}
	r := startMirrors(t, f)
	c := r.dial(1)
	_, err := c.Open(shm.Open{}, scanJob(10, ""))
	must(t, err)
	must(t, backend.Send(c, shm.MsgRun, &shm.Run{Generation: 1}))
	r.eventually("it reads", func() (bool, string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.reads) == 1, ""
	})
	other := r.dial(2) // the daemon serves others meanwhile
	_, err = other.Open(shm.Open{}, joinJob(10, 10, 10))
	must(t, err)
	c.Close()
	f.released(r)
}

// TestFedMirror: nobody feeds a mirrored input.
func TestFedMirror(t *testing.T) {
	f := &fakePins{rows: tableRows(10, 10, "x")}
	r := startMirrors(t, f)
	for name, act := range map[string]func(c *backend.Conn) error{
		"a batch": func(c *backend.Conn) error { return c.Feed(1, tableShapes, f.rows, 0) },
		"pages":   func(c *backend.Conn) error { return c.Raw().Write(leafPages(7, 0, 1, 2, 3), nil) },
		"kept":    func(c *backend.Conn) error { return backend.Send(c, shm.MsgKeptGet, &shm.KeptGet{Input: 1}) },
		"a captured batch": func(c *backend.Conn) error {
			e, err := c.Want(1)
			must(t, err)
			n, err := backend.Fill(e[0].Data, tableShapes, f.rows, 0)
			must(t, err)
			return c.Raw().Write(captured(e[0], n, shm.CapturedBlock{LSN: 4}), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial(1)
			c.Timeout = 10 * time.Second
			_, err := c.Open(shm.Open{}, mirrorOf(joinJob(10, 10, 10), ""))
			must(t, err)
			must(t, act(c))
			wantFailure(t, drainUntilError(c), shm.FailProtocol)
			r.waitIdleBut(c)
		})
	}
	f.released(r)
}
