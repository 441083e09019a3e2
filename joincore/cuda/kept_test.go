//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	trials "gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/suite"
)

// keeping is a provider on which columns stay.
func keeping(t *testing.T, ordinal int, budget, keep int64, peers ...int) *Provider {
	t.Helper()
	p, err := New(Config{Ordinal: ordinal, Budget: budget, Streams: 4, Peers: peers, Keep: func(int64) int64 { return keep }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// keptTypes are the columns of a relation: of each width with and without NULLs, and texts.
var keptTypes = []struct {
	joincore.Column
	nulls bool
}{
	{joincore.Column{Kind: joincore.Fixed, Width: 1}, false}, {joincore.Column{Kind: joincore.Fixed, Width: 2}, true},
	{joincore.Column{Kind: joincore.Fixed, Width: 4}, false}, {joincore.Column{Kind: joincore.Fixed, Width: 4}, true},
	{joincore.Column{Kind: joincore.Fixed, Width: 8}, false}, {joincore.Column{Kind: joincore.Fixed, Width: 8}, true},
	{joincore.Column{Kind: joincore.Fixed, Width: 16}, true}, {joincore.Column{Kind: joincore.Varlena, Align: 4}, true},
}

// keptRows are rows [from, from+rows) of a table's version, whose columns have contents of their
// own. Version 0: rows without a content.
type keptRows struct{ version, from, rows int }

// valueOf returns a value of a version's row, nil for NULL.
func valueOf(column int, r keptRows, row int) []byte {
	c := keptTypes[column]
	random := rand.New(rand.NewPCG(uint64(r.version)<<8|uint64(column), uint64(r.from+row)))
	if c.nulls && r.version%3 > 0 && random.IntN(5) == 0 { // a third of the versions has no NULLs
		return nil
	}
	n := c.Width
	if c.Kind == joincore.Varlena {
		n = 4 * random.IntN(8)
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(random.Uint32())
	}
	return out
}

// keptRelation returns rows on the host. Of versions that are spoilt the values there are
// nonsense, so that whoever reads them there is found out.
func keptRelation(parts []keptRows, spoilt map[int]bool) *joincore.Relation {
	r := &joincore.Relation{}
	for _, c := range keptTypes {
		r.Columns = append(r.Columns, c.Column)
	}
	for _, p := range parts {
		s := joincore.Segment{Rows: p.rows}
		for j, c := range keptTypes {
			v := joincore.Vector{Validity: make([]byte, (p.rows+7)/8)}
			nulls := false
			if c.Kind == joincore.Varlena {
				v.Values = make([]byte, 4)
			}
			for row := range p.rows {
				value := valueOf(j, p, row)
				if value != nil {
					v.Validity[row/8] |= 1 << (row % 8)
				} else {
					nulls = true
				}
				if c.Kind == joincore.Varlena {
					v.Heap = append(v.Heap, value...)
					v.Values = binary.LittleEndian.AppendUint32(v.Values, uint32(len(v.Heap)))
				} else {
					v.Values = append(v.Values, append(value, make([]byte, c.Width-len(value))...)...)
				}
			}
			if !nulls {
				v.Validity = nil
			}
			if p.version > 0 {
				v.Content, v.From = uint64(p.version*len(keptTypes)+j), int64(p.from)
			}
			if spoilt[p.version] && c.Kind == joincore.Fixed {
				for i := range v.Values {
					v.Values[i] ^= 0x5a
				}
			}
			if spoilt[p.version] && c.Kind == joincore.Varlena {
				for i := range v.Heap {
					v.Heap[i] ^= 0x5a
				}
			}
			s.Columns = append(s.Columns, v)
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

// contents returns what all columns of a version have.
func contents(version int) (list []uint64) {
	for j := range keptTypes {
		list = append(list, uint64(version*len(keptTypes)+j))
	}
	return list
}

// download returns bytes of the device.
func download(t *testing.T, e *execution, at driver.Ptr, n int64) []byte {
	t.Helper()
	host, err := e.workspace.gpu.context.Pinned(n)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Free()
	st := e.workspace.main.Stream()
	if err := errors.Join(st.CopyOut(host.Bytes()[:n], at), st.Sync(context.Background())); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(host.Bytes()[:n])
}

// checkView compares columns of a view with what they must be.
func checkView(t *testing.T, e *execution, v *view, parts []keptRows, columns []int) {
	t.Helper()
	for _, j := range columns {
		c, err := v.Column(t.Context(), j)
		if err != nil {
			t.Fatalf("column %d: %v", j, err)
		}
		width := int64(keptTypes[j].Width)
		if keptTypes[j].Kind == joincore.Varlena {
			width = rowid.SpanBytes
		}
		values := download(t, e, c.Values, width*v.rows)
		var valid []byte
		if c.Validity != 0 {
			valid = download(t, e, c.Validity, v.rows)
		}
		row := 0
		for _, p := range parts {
			for i := range p.rows {
				want := valueOf(j, p, i)
				null := valid != nil && valid[row] == 0
				if null != (want == nil) {
					t.Fatalf("column %d, row %d (%v, %d): NULL is %v", j, row, p, i, null)
				}
				got := values[int64(row)*width:][:width]
				if keptTypes[j].Kind == joincore.Varlena {
					address, bytes := binary.LittleEndian.Uint64(got), binary.LittleEndian.Uint32(got[8:])
					if int(bytes) != len(want) {
						t.Fatalf("column %d, row %d (%v, %d): a text of %d bytes, and not %d", j, row, p, i, bytes, len(want))
					}
					if row%17 != 0 || bytes == 0 {
						row++
						continue
					}
					got = download(t, e, driver.Ptr(address), int64(bytes))
				}
				if want != nil && !slices.Equal(got, want) {
					t.Fatalf("column %d, row %d (%v, %d): %x, and not %x", j, row, p, i, got, want)
				}
				row++
			}
		}
	}
}

var everyColumn = func() (list []int) {
	for j := range keptTypes {
		list = append(list, j)
	}
	return list
}()

// openKept starts an execution over one relation.
func openKept(t *testing.T, p *Provider, r *joincore.Relation) *execution {
	t.Helper()
	d, err := p.Open(&suite.Arena{}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Import(0, r); err != nil {
		t.Fatal(err)
	}
	return d.(*execution)
}

// readKept reads columns of a relation in an execution.
func readKept(t *testing.T, p *Provider, parts []keptRows, spoilt map[int]bool, columns []int) {
	t.Helper()
	e := openKept(t, p, keptRelation(parts, spoilt))
	defer e.Close()
	checkView(t, e, e.inputs[0].all, parts, columns)
}

// Columns of all types that stay are those that were brought, whole, with others between them,
// and as slices; what is on the device is not read on the host.
func TestKeptColumnsStay(t *testing.T) {
	p := keeping(t, 0, 256<<20, 64<<20)
	whole := []keptRows{{1, 0, 3000}, {2, 0, 2000}, {3, 0, 2777}}
	readKept(t, p, whole, nil, everyColumn)
	if p.Resident() == 0 || !p.Holds(contents(1)[4]) {
		t.Fatalf("%d bytes stay", p.Resident())
	}
	spoilt := map[int]bool{1: true, 2: true, 3: true}
	readKept(t, p, whole, spoilt, everyColumn)
	fixed := everyColumn[:len(everyColumn)-1] // texts come from the device only if all of them do
	for _, parts := range [][]keptRows{
		{{1, 0, 99}, {1, 100, 2900}, {2, 8, 1992}, {3, 0, 2777}},
		{{3, 0, 2777}, {1, 0, 3000}},
		{{1, 0, 3000}, {0, 0, 50}, {2, 0, 2000}, {0, 50, 3}, {3, 1, 2000}},
		{{2, 700, 1000}},
		{{2, 0, 1000}},
		{{1, 0, 3000}, {4, 0, 2000}, {3, 0, 2777}},
		{{2, 0, 2000}, {4, 0, 2000}, {1, 0, 3000}, {3, 0, 2777}},
	} {
		readKept(t, p, parts, spoilt, fixed)
		readKept(t, p, parts, nil, everyColumn)
	}
	p.Drop(slices.Concat(contents(1), contents(2), contents(3), contents(4)))
	if n := p.Resident(); n != 0 {
		t.Errorf("%d bytes stay of what is gone", n)
	}
	readKept(t, p, whole, nil, everyColumn)
}

// Windows are read where their rows lie.
func TestWindowsOfKeptColumns(t *testing.T) {
	p := keeping(t, 0, 256<<20, 64<<20)
	parts := []keptRows{{1, 0, 2048}, {2, 0, 2000}, {3, 0, 1000}, {4, 0, 512}}
	readKept(t, p, parts, nil, everyColumn)
	fixed := everyColumn[:len(everyColumn)-1]
	e := openKept(t, p, keptRelation(parts, map[int]bool{1: true, 2: true, 3: true, 4: true}))
	defer e.Close()
	for low := range parts {
		for high := low + 1; high <= len(parts); high++ {
			v := e.segmentsView(0, low, high)
			checkView(t, e, v, parts[low:high], fixed)
			v.Close()
		}
	}
	if c, ok := e.segmentsView(0, 1, 2).inDevice(4); !ok || c.Values == 0 {
		t.Error("a window at a line is copied")
	}
}

// Columns that stay make room for executions, are evicted in turn, and survive a workspace's
// other uses.
func TestKeptColumnsUnderLoad(t *testing.T) {
	random := trials.Source(t)
	const limit = 4 << 20
	p := keeping(t, 0, 24<<20, limit)
	spoilt := map[int]bool{}
	versions := []int{1, 2, 3, 4, 5, 6}
	next := 7
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	for i := range rounds {
		var parts []keptRows
		for _, version := range versions {
			switch random.IntN(6) {
			case 0:
			case 1:
				parts = append(parts, keptRows{0, 0, 1 + random.IntN(1000)})
			case 2:
				parts = append(parts, keptRows{version, 0, 2000}, keptRows{version, 2001, 2000})
			default:
				parts = append(parts, keptRows{version, 0, 5000})
			}
		}
		if len(parts) == 0 {
			continue
		}
		columns := slices.Clone(everyColumn)
		columns = slices.DeleteFunc(columns, func(int) bool { return random.IntN(3) == 0 })
		e := openKept(t, p, keptRelation(parts, spoilt))
		found := slices.ContainsFunc(e.inputs[0].keeps, func(k *keptColumn) bool { return k.rows() > 0 })
		if random.IntN(3) == 0 && !found { // nothing is read that stays, so steps get all memory
			before := e.workspace.arena.Mark()
			if _, err := e.workspace.arena.Take(e.workspace.bytes / 100 * 90); err != nil {
				t.Error(err)
			}
			e.workspace.arena.Rewind(before)
		}
		checkView(t, e, e.inputs[0].all, parts, columns)
		e.Close()
		if n := p.Resident(); n > limit {
			t.Fatalf("%d bytes stay", n)
		}
		if i%4 == 0 {
			at := random.IntN(len(versions))
			p.Drop(contents(versions[at]))
			versions[at] = next
			next++
		}
	}
	for p.resident.Evict(nil) {
	}
	e := openKept(t, p, keptRelation([]keptRows{{0, 0, 10}}, nil))
	defer e.Close()
	if free, whole := e.workspace.arena.Size(), e.workspace.bytes; free < whole/100*90 {
		t.Errorf("%d of %d bytes came back", free, whole)
	}
}

// Executions that run at the same time read the same columns, and others bring and evict some.
func TestKeptColumnsOfConcurrentExecutions(t *testing.T) {
	p := keeping(t, 0, 256<<20, 8<<20)
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 9))
			for range 20 {
				parts := []keptRows{{1 + random.IntN(4), 0, 5000}, {5 + random.IntN(4), 0, 5000}}
				e := openKept(t, p, keptRelation(parts, nil))
				checkView(t, e, e.inputs[0].all, parts, []int{random.IntN(len(keptTypes)), 4})
				e.Close()
				if random.IntN(8) == 0 {
					p.Drop(contents(1 + random.IntN(8)))
				}
			}
		})
	}
	all.Wait()
}

// named gives each vector of the suite's inputs a content, which is the same in all executions
// over it.
type named struct {
	*Provider
	mu    sync.Mutex
	known map[*byte]joincore.Vector // keeps the memory, so that no other vector gets it
	hits  int64
}

func (n *named) Execute(ctx context.Context, plan *joincore.Checked, inputs []*joincore.Relation, mem joincore.Memory,
	sink joincore.Sink, opt exec.Options, stats *joincore.Stats) error {
	inputs = slices.Clone(inputs)
	for i, r := range inputs {
		inputs[i] = &joincore.Relation{Columns: r.Columns}
		for _, s := range r.Segments {
			s.Columns = slices.Clone(s.Columns)
			for j := range s.Columns {
				n.name(&s.Columns[j])
			}
			inputs[i].Segments = append(inputs[i].Segments, s)
		}
	}
	before := n.resident.Bytes()
	err := exec.Run(ctx, n.Provider, plan, inputs, mem, sink, opt, stats)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hits += min(before, 1)
	return err
}

func (n *named) name(v *joincore.Vector) {
	if len(v.Values) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[&v.Values[0]]
	if !ok {
		known = *v
		known.Content = uint64(len(n.known) + 1)
		n.known[&v.Values[0]] = known
	}
	if len(known.Values) == len(v.Values) && len(known.Heap) == len(v.Heap) {
		v.Content = known.Content
	}
}

// TestSuiteOfKeptColumns runs what every provider has to pass over columns that stay on the
// device from one algorithm to the next.
func TestSuiteOfKeptColumns(t *testing.T) {
	for name, change := range map[string]func(*Provider){
		"whole sides": func(*Provider) {},
		"row ids":     func(p *Provider) { p.rowIDsOnly = true },
		"windows":     func(p *Provider) { p.outOfCore.WindowRows = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			p := &named{Provider: keeping(t, 0, 512<<20, 128<<20), known: map[*byte]joincore.Vector{}}
			change(p.Provider)
			s := suite.Subject{
				Provider: p, Algorithms: algorithms, Thin: *thin * 6, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true,
			}
			for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.AggregateValues} {
				part(t, s)
			}
			if err := p.Lost(); err != nil {
				t.Error(err)
			}
			if p.hits == 0 {
				t.Error("no column stayed")
			}
		})
	}
}

// TestKeptColumnsOfSeveralDevices joins kept columns on two devices, or on one that acts as both:
// each keeps its own, also of the side that all read whole.
func TestKeptColumnsOfSeveralDevices(t *testing.T) {
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var members []device.Provider
	devices := []int{0, len(all) - 1}
	for _, ordinal := range devices {
		members = append(members, keeping(t, ordinal, 512<<20, 128<<20, devices...))
	}
	both := multi.Together("cuda", members, costmodel.Auto)
	heap := func(n int) []byte { return make([]byte, n) }
	const n, m = 100_000, 3_000_000
	inputs := []*joincore.Relation{numberedInput(n/2, m, heap), numberedInput(0, n, heap)}
	next := uint64(0)
	for _, r := range inputs {
		for i := range r.Segments {
			for j := range r.Segments[i].Columns {
				next++
				r.Segments[i].Columns[j].Content = next
			}
		}
	}
	plan := suite.PairPlan(inputs[0], inputs[1])
	plan.Output = []joincore.ColumnRef{{Input: 0, Column: 1}, {Input: 1, Column: 1}}
	for range 3 {
		sink, mem := newPayloads(8, 1<<16, heap), &suite.Arena{}
		var stats joincore.Stats
		if err := suite.Run(t.Context(), both, plan, inputs, mem, sink, exec.Options{}, &stats); err != nil {
			t.Fatal(err)
		}
		want := total(n/2, n)
		if sink.rows != n-n/2 || sink.sum != [2]uint64{want, want} || sink.odd != 0 {
			t.Errorf("%d rows, sums %v, %d odd", sink.rows, sink.sum, sink.odd)
		}
		for i, p := range members {
			if p.(*Provider).Resident() == 0 {
				t.Errorf("nothing stays on device %d", i)
			}
		}
	}
}
