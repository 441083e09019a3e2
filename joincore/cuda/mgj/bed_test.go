//go:build cuda

package mgj

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/columnartest"
)

// bed is a group of GPUs for tests.
type bed struct {
	members []Member
	group   *Group
	fabric  *fabric.Fabric // that copies rows; nil: none
	way     Way            // of joins that name none
	shift   bool           // payload begins at an odd multiple of a value's size
	report  *Report        // of the last join
}

const memberBytes = 96 << 20

// newBed makes a group of devices, some of which may be the same, whose GPUs store into
// each other's memory or, with a mesh, copy rows over its links.
func newBed(t *testing.T, m *mesh.Mesh, ordinals ...int) *bed {
	t.Helper()
	return newBedOf(t, slices.Repeat([]int64{memberBytes}, len(ordinals)), m, ordinals...)
}

// newBedOf is newBed with the memory that each GPU has for joins.
func newBedOf(t *testing.T, bytes []int64, m *mesh.Mesh, ordinals ...int) *bed {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b := &bed{}
	for _, ordinal := range ordinals {
		d, err := driver.Open(ordinal)
		must(err)
		s, err := d.NewStream()
		must(err)
		b.members = append(b.members, Member{Device: d, Stream: s})
	}
	var all []*driver.Context
	for _, m := range b.members {
		all = append(all, m.Device)
	}
	for i := range b.members {
		var err error
		b.members[i].Arena, err = all[i].NewArena(bytes[i], all...)
		must(err)
	}
	var err error
	if m == nil {
		b.group, err = Open(b.members, equalLinks(t, len(ordinals)))
	} else {
		b.fabric, err = fabric.Open(m, fabric.Options{Devices: ordinals, Bytes: 256 << 20, Staged: true})
		must(err)
		b.group, err = OpenStaged(b.members, b.fabric)
	}
	must(err)
	t.Cleanup(func() {
		must(b.group.Close())
		if b.fabric != nil {
			must(b.fabric.Close())
		}
		for _, m := range b.members {
			must(errors.Join(m.Arena.Close(), m.Stream.Close()))
		}
		for _, m := range b.members {
			must(m.Device.Close())
		}
	})
	return b
}

// placement divides rows among n devices, and returns the first row of each.
type placement func(rows int64, i, n int) int64

func evenly(rows int64, i, n int) int64 { return rows * int64(i) / int64(n) }

// first has all rows on the first device, last on the last one.
func first(rows int64, i, n int) int64 { return rows * int64(min(i, 1)) }
func last(rows int64, i, n int) int64  { return rows * int64(i/n) }

// uneven gives each device half of what those before it have left.
func uneven(rows int64, i, n int) int64 {
	if i == n {
		return rows
	}
	return rows - rows>>i
}

// join returns a function that joins over the bed's devices: it copies each side's rows
// to them, and the result's back.
func (b *bed) join(o Options, build, probe placement) columnar.Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		n := len(b.members)
		parts := make([]columnar.Join, n)
		for i, m := range b.members {
			m.Arena.Rewind(0)
			if err := m.Stream.Memset(m.Arena.Base(), 0x5a, m.Arena.Size()); err != nil {
				return nil, nil, err
			}
			if err := m.Stream.Sync(ctx); err != nil {
				return nil, nil, err
			}
			parts[i] = columnar.Join{RowIDs: j.RowIDs, NoKey: j.NoKey, Phases: j.Phases}
			parts[i].OutputRows = evenly(j.OutputRows, i+1, n) - evenly(j.OutputRows, i, n)
			for side, place := range []placement{build, probe} {
				from := [2]*columnar.Side{&j.Build, &j.Probe}[side]
				to := [2]*columnar.Side{&parts[i].Build, &parts[i].Probe}[side]
				low := place(from.Rows, i, n)
				to.Rows = place(from.Rows, i+1, n) - low
				for k, c := range append([]columnar.Column{from.Key}, from.Payload...) {
					own, err := m.Arena.Take((to.Rows+1)*int64(c.Bytes) + driver.Line)
					if err != nil {
						return nil, nil, err
					}
					if b.shift && k > 0 {
						own += driver.Ptr(c.Bytes)
					}
					if err := s.Push(own, m.Device, c.Addr+driver.Ptr(low*int64(c.Bytes)), to.Rows*int64(c.Bytes)); err != nil {
						return nil, nil, err
					}
					column := columnar.Column{Addr: own, Bytes: c.Bytes}
					if k == 0 {
						to.Key = column
					} else {
						to.Payload = append(to.Payload, column)
					}
				}
			}
		}
		if err := s.Sync(ctx); err != nil {
			return nil, nil, err
		}
		outputs, report, err := b.group.Join(ctx, parts, b.options(o))
		if err != nil {
			return nil, nil, err
		}
		b.report = report
		out, err := b.collect(ctx, s, a, outputs)
		first := *report.Members[0]
		first.PeakBytes = 1
		return out, &first, err
	}
}

// options completes the options of a join.
func (b *bed) options(o Options) Options {
	if o.Way == WayFastest {
		o.Way = b.way
	}
	return o
}

// collect copies the devices' results into one.
func (b *bed) collect(ctx context.Context, s *driver.Stream, a *driver.Arena, parts []*columnar.Output) (*columnar.Output, error) {
	all := &columnar.Output{}
	for _, p := range parts {
		all.Rows += p.Rows
	}
	gather := func(of func(*columnar.Output) columnar.Column) (columnar.Column, error) {
		width := of(parts[0]).Bytes
		to, err := a.Take(all.Rows*int64(width) + driver.Line)
		if err != nil {
			return columnar.Column{}, err
		}
		at := to
		for i, p := range parts {
			bytes := p.Rows * int64(width)
			if err := s.CopyPeer(at, of(p).Addr, b.members[i].Device, bytes); err != nil {
				return columnar.Column{}, err
			}
			at += driver.Ptr(bytes)
		}
		return columnar.Column{Addr: to, Bytes: width}, nil
	}
	var err error
	if parts[0].Key.Bytes > 0 {
		if all.Key, err = gather(func(o *columnar.Output) columnar.Column { return o.Key }); err != nil {
			return nil, err
		}
	}
	for c := range parts[0].Build {
		column, err := gather(func(o *columnar.Output) columnar.Column { return o.Build[c] })
		if err != nil {
			return nil, err
		}
		all.Build = append(all.Build, column)
	}
	for c := range parts[0].Probe {
		column, err := gather(func(o *columnar.Output) columnar.Column { return o.Probe[c] })
		if err != nil {
			return nil, err
		}
		all.Probe = append(all.Probe, column)
	}
	return all, s.Sync(ctx)
}

// layouts are the groups that this machine can have.
func layouts(t *testing.T) [][]int {
	t.Helper()
	all, err := driver.Devices()
	if err != nil || len(all) == 0 {
		t.Fatalf("no device: %v", err)
	}
	list := [][]int{{0}, {0, 0}, {0, 0, 0}}
	if len(all) < 2 {
		t.Log("one device: stores into another one are not tested")
		return append(list, []int{0, 0, 0, 0, 0, 0, 0, 0})
	}
	list = append(list, []int{0, 1}, []int{1, 0, 1, 0}, []int{0, 0, 0, 0, 1, 1, 1, 1})
	if len(all) > 2 {
		list = append(list, []int{0, 1, 2, 3, 4, 5, 6, 7}[:min(len(all), 8)])
	}
	return list
}

// each runs a test on each layout, with rows that are stored and copied.
func each(t *testing.T, test func(*columnartest.Rig, *bed)) {
	for _, ordinals := range layouts(t) {
		for how, way := range ways {
			t.Run(fmt.Sprintf("%v %s", ordinals, how), func(t *testing.T) {
				b := newBed(t, nil, ordinals...)
				b.way = way
				test(columnartest.New(t, 1<<28), b)
			})
		}
	}
}

var ways = map[string]Way{"stored": WayStore, "copied": WayCopy}

// onGroups is each, and also runs the test with rows that are staged.
func onGroups(t *testing.T, test func(*columnartest.Rig, *bed)) {
	each(t, test)
	for _, ordinals := range layouts(t) {
		t.Run(fmt.Sprintf("%v staged", ordinals), func(t *testing.T) {
			test(columnartest.New(t, 1<<28), newBed(t, meshOf(t, len(ordinals)), ordinals...))
		})
	}
}
