package foreign

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gpujoin/sidecar/kept"
	"gpujoin/sidecar/mirror/pgout"
	"gpujoin/sidecar/source"
)

// heap is memory of which it counts what is not given back.
type heap struct {
	mu   sync.Mutex
	live int
}

func (h *heap) ExtentSize() int64 { return 1 << 20 }

func (h *heap) Extent() (kept.Extent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live++
	return kept.Extent{Data: make([]byte, h.ExtentSize()), Release: func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.live--
	}}, nil
}

// fake is a session whose source is the test.
type fake struct {
	options source.Options
	target  source.Target
	tables  map[source.Name]*source.Table

	mu        sync.Mutex
	at        source.LSN // committed at the source
	down      error      // it cannot be asked
	age       time.Duration
	received  source.LSN
	moved     chan struct{}
	state     map[source.Name]source.TableStatus
	snapshots int // open
	questions int
	ids       []int64 // of the rows that snapshots have
	during    func()  // called when a snapshot is taken
	closed    bool
}

func (f *fake) Mirror(names ...source.Name) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		if _, ok := f.state[n]; !ok {
			f.state[n] = source.TableStatus{Name: n, State: source.StateLoading}
		}
	}
}

func (f *fake) Forget(names ...source.Name) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		delete(f.state, n)
		f.target.Fail(f.tables[n], errors.New("forgotten"))
	}
}

func (f *fake) Wait(context.Context, source.Name) error { return nil }

func (f *fake) Describe(_ context.Context, names ...source.Name) (out []*source.Table, err error) {
	for _, n := range names {
		if t := f.tables[n]; t != nil {
			out = append(out, t)
		}
	}
	return out, nil
}

func (f *fake) List(_ context.Context, schema string) (names []source.Name, err error) {
	for n := range f.tables {
		if n.Schema == schema {
			names = append(names, n)
		}
	}
	return names, nil
}

func (f *fake) Latest(context.Context) (source.LSN, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.questions++
	return f.at, f.down
}

func (f *fake) WaitFor(ctx context.Context, at source.LSN) error {
	for {
		f.mu.Lock()
		done, moved := f.received >= at, f.moved
		f.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return &source.Error{SQLState: "57014", Message: "late"}
		}
	}
}

func (f *fake) Age() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.age, f.age > 0
}

func (f *fake) Status() source.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := source.Status{State: source.StateReady, Position: f.received}
	for _, n := range slices.SortedFunc(maps.Keys(f.state), func(a, b source.Name) int { return strings.Compare(a.Table, b.Table) }) {
		s.Tables = append(s.Tables, f.state[n])
	}
	return s
}

func (f *fake) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

type sourceSnapshot struct{ f *fake }

// Copy delivers rows with the ids of the snapshot, for tables of newTable.
func (n sourceSnapshot) Copy(_ context.Context, what source.Read, deliver func(*source.Batch) error) error {
	b := &source.Batch{Columns: len(what.Columns)}
	for _, id := range n.f.ids {
		b.Rows++
		for range what.Columns {
			b.Offsets, b.Lengths = append(b.Offsets, uint32(len(b.Data))), append(b.Lengths, 8)
			b.Data = binary.BigEndian.AppendUint64(b.Data, uint64(id))
		}
	}
	return deliver(b)
}

func (n sourceSnapshot) Close() {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	n.f.snapshots--
}

func (f *fake) snapshot(context.Context, ...source.Name) (snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return nil, f.down
	}
	f.snapshots++
	if during := f.during; during != nil {
		f.mu.Unlock()
		during()
		f.mu.Lock()
	}
	return sourceSnapshot{f}, nil
}

// load makes the mirror of a table ready, without rows.
func (f *fake) load(table string) {
	name := source.Name{Schema: "public", Table: table}
	l, err := f.target.Begin(f.tables[name])
	if err == nil {
		err = l.Join(f.received)
	}
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state[name] = source.TableStatus{Name: name, State: source.StateReady}
}

// commit commits rows with these ids at the source; deliver: and the stream delivers them.
func (f *fake) commit(deliver bool, table string, ids ...int64) {
	f.mu.Lock()
	f.at += 100
	at := f.at
	f.mu.Unlock()
	for _, id := range ids {
		value := pgout.Value{Kind: pgout.Binary, Data: binary.BigEndian.AppendUint64(nil, uint64(id))}
		c := &source.Change{Kind: source.Insert, Table: f.tables[source.Name{Schema: "public", Table: table}], New: pgout.Tuple{value, value}}
		if err := f.target.Change(c); err != nil {
			panic(err)
		}
	}
	if deliver {
		f.deliver(at)
	}
}

func (f *fake) deliver(at source.LSN) {
	if err := f.target.Commit(at, time.Now()); err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = at
	close(f.moved)
	f.moved = make(chan struct{})
}

// newTable is a table with two columns, id and n, of the type int8.
func newTable(oid uint32, name string) *source.Table {
	t := &source.Table{Name: source.Name{Schema: "public", Table: name}, OID: oid, Published: []int{0, 1}, Key: []int{0}, Rows: 1000, Bytes: 8192}
	for i, column := range []string{"id", "n"} {
		t.Columns = append(t.Columns, source.Column{Name: column, Attnum: int16(i + 1), Type: 20, BaseType: 20, BaseTypmod: -1, Typmod: -1, TypeName: "bigint", Binary: true})
	}
	return t
}

// world is sources whose servers are fakes.
type world struct {
	t       *testing.T
	memory  *heap
	sources *Sources
	opened  []*fake

	mu      sync.Mutex
	removed []source.Options // what was removed at sources
	refuse  error            // the next removal fails with it
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, memory: &heap{}}
	w.sources = New(w.memory, Options{Limit: 64 << 20, Log: slog.New(slog.DiscardHandler)})
	w.sources.open = func(o source.Options, target source.Target, _ *slog.Logger) (session, error) {
		f := &fake{options: o, target: target, tables: map[source.Name]*source.Table{}, at: 1000, received: 1000,
			moved: make(chan struct{}), state: map[source.Name]source.TableStatus{}}
		for i, name := range []string{"a", "b", "c"} {
			table := newTable(uint32(100+i), name)
			f.tables[table.Name] = table
		}
		target.Received(1000)
		w.opened = append(w.opened, f)
		return f, nil
	}
	w.sources.remove = func(_ context.Context, o source.Options) (source.Removed, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.refuse; err != nil {
			w.refuse = nil
			return source.Removed{}, err
		}
		w.removed = append(w.removed, o)
		return source.Removed{}, nil
	}
	t.Cleanup(func() {
		w.sources.Close()
		for i, f := range w.opened {
			if !f.closed || f.snapshots != 0 {
				t.Errorf("session %d: closed %v, %d open snapshots", i, f.closed, f.snapshots)
			}
		}
		if w.memory.live != 0 || len(w.sources.pins) != 0 {
			t.Errorf("%d extents and %d pins are left", w.memory.live, len(w.sources.pins))
		}
	})
	return w
}

// peer is a connection; it ends with the test.
func (w *world) peer() Peer {
	p := Peer{Cluster: 7, Database: 5, Owner: &Owner{}}
	w.t.Cleanup(p.Owner.Close)
	return p
}

const secret = "pa$$word-of-nobody"

// object is a JSON object.
type object = map[string]any

func sourceOf(mapping int, keywords ...string) object {
	k := object{"host": "db1", "user": "u", "dbname": "d", "password": secret}
	for i := 0; i+1 < len(keywords); i += 2 {
		k[keywords[i]] = keywords[i+1]
	}
	return object{"database_encoding": "UTF8", "server": 16400, "mapping": mapping, "keywords": k, "publication": "", "slot": "", "max_retained_wal": 0}
}

func tableOf(name string, columns ...object) object {
	if columns == nil {
		columns = []object{int8Column("id"), int8Column("n")}
	}
	return object{"schema": "public", "table": name, "mirror": true, "columns": columns}
}

func int8Column(name string) object {
	return object{"name": name, "type": 20, "typmod": -1, "text": false}
}

func pinRequest(src object, tables ...object) object {
	return object{"source": src, "freshness_ms": -1, "timeout_ms": 200, "mix": false, "mirror": true, "tables": tables, "show": false}
}

// with returns an object with another member.
func with(o object, key string, value any) object {
	o = maps.Clone(o)
	o[key] = value
	return o
}

// ask sends a request, decodes its answer and returns its error.
func ask[T any](w *world, p Peer, kind Kind, request object) (out T, failed *source.Error) {
	w.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	answer := w.sources.Handle(w.t.Context(), p, kind, text)
	var e struct{ Error *source.Error }
	if err := json.Unmarshal(answer, &e); err != nil {
		w.t.Fatalf("%v: %s", err, answer)
	}
	if strings.Contains(string(answer), secret) {
		w.t.Fatalf("an answer has the password: %s", answer)
	}
	if e.Error != nil {
		return out, e.Error
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		w.t.Fatalf("%v: %s", err, answer)
	}
	return out, nil
}

// must is ask without an error.
func must[T any](w *world, p Peer, kind Kind, request object) T {
	w.t.Helper()
	out, failed := ask[T](w, p, kind, request)
	if failed != nil {
		w.t.Fatalf("kind %d: %v", kind, failed)
	}
	return out
}

// rows returns how many rows a pin sees of a table.
func (w *world) rows(p Peer, token, table string) int64 {
	w.t.Helper()
	pin, err := w.sources.Find(token, p)
	if err != nil {
		w.t.Fatal(err)
	}
	defer pin.Release()
	r, err := pin.Read(w.t.Context(), Read{Schema: "public", Table: table})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Total
}

func (a pinAnswer) String() string {
	out := a.Position
	for _, t := range a.Tables {
		out += fmt.Sprintf(" %v %q", t.Direct, t.Reason)
	}
	return out
}
