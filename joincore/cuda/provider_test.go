//go:build cuda

package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/mesh"
	"gpujoin/joincore/multi"
	trials "gpujoin/testsupport/columnartest"
	"gpujoin/testsupport/machines"
	"gpujoin/testsupport/oracle"
	"gpujoin/testsupport/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var thin = flag.Uint64("thin", 4, "run one in so many cases of the suite that every provider passes; 1: all. Which ones follows from -seed")

var algorithms = joincore.Algorithms[:]

// poisoned fills the device memory of each execution before it starts, so that
// nothing is right by chance.
type poisoned struct {
	*Provider
	mu   sync.Mutex
	with byte
}

func (p *poisoned) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	d, err := p.Provider.Open(mem, opt)
	if err != nil {
		return nil, err
	}
	e := d.(*execution)
	p.mu.Lock()
	p.with += 0x35
	with := p.with
	p.mu.Unlock()
	st := e.workspace.main.Stream()
	for _, a := range []*driver.Arena{e.workspace.arena, e.workspace.upload.scratch} {
		if err := st.Memset(a.Base(), with, a.Size()); err != nil {
			return nil, err
		}
	}
	if err := st.Sync(context.Background()); err != nil {
		return nil, err
	}
	return d, nil
}

func provider(t *testing.T, budget int64) *Provider {
	t.Helper()
	return opened(t, Config{Budget: budget, Streams: 4})
}

// opened returns a provider that is closed when the test ends.
func opened(t *testing.T, c Config) *Provider {
	t.Helper()
	p, err := New(c)
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

// TestSuite runs what every provider has to pass.
func TestSuite(t *testing.T) {
	runSuite(t, 1, func(*Provider) {}, suite.All)
}

// TestSuiteByRowID has no join take whole sides.
func TestSuiteByRowID(t *testing.T) {
	runSuite(t, 4, func(p *Provider) { p.rowIDsOnly = true }, suite.Matrix, suite.Sizes, suite.Trees, suite.AggregateTrees, suite.Skew)
}

// TestSuiteInWindows has probe sides cross the link in windows.
func TestSuiteInWindows(t *testing.T) {
	runSuite(t, 4, func(p *Provider) { p.outOfCore.WindowRows = 10 }, suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.AggregateValues)
}

// TestSuiteSpecialised has a kernel compiled for each program that groups rows, which
// takes most of a second.
func TestSuiteSpecialised(t *testing.T) {
	if testing.Short() {
		runSuite(t, 1, specialised, suite.Aggregates)
		return
	}
	runSuite(t, 8, specialised, suite.Aggregates, suite.AggregateValues)
}

// TestSuiteDivided has both sides divided, by whoever can do that. Filters are
// left out: a build side that is divided has to be probed by an input as it is.
func TestSuiteDivided(t *testing.T) {
	for name, by := range map[string]outofcore.Dividers{"device": outofcore.DeviceAlone, "cores": outofcore.CoresAlone, "row numbers": outofcore.RowNumbersOnly} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 12, func(p *Provider) { p.outOfCore.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 50, By: by} }, suite.Matrix, suite.Sizes)
		})
	}
}

// TestSuiteResident has both sides divided, with device memory for all windows, or for some.
func TestSuiteResident(t *testing.T) {
	for name, bytes := range residentSizes {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 12, func(p *Provider) {
				p.outOfCore.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 50, ResidentBytes: bytes, By: outofcore.DeviceAlone}
			}, suite.Matrix, suite.Sizes, suite.Skew)
		})
	}
}

// residentSizes are the bytes of windows that are not downloaded: all, and a few.
var residentSizes = map[string]int64{"all": 1 << 20, "some": 12 << 10}

// TestSuiteOfSharedJoins has both sides divided by two devices, or by one that acts as
// both, with and without windows that stay on them.
func TestSuiteOfSharedJoins(t *testing.T) {
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, second := range []int{0, len(all) - 1}[:min(len(all), 2)] {
		for _, bytes := range []int64{-1, residentSizes["some"], residentSizes["all"]} {
			t.Run(fmt.Sprintf("devices 0 and %d, %d bytes stay", second, bytes), func(t *testing.T) {
				var members []device.Provider
				for _, ordinal := range []int{0, second} {
					p, err := New(Config{Ordinal: ordinal, Budget: 256 << 20, Streams: 2, Peers: []int{0, second}})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if err := p.Close(); err != nil {
							t.Error(err)
						}
					})
					p.outOfCore.Limits = outofcore.Limits{SplitBytes: 1, WindowRows: 50, ResidentBytes: bytes}
					members = append(members, p)
				}
				s := suite.Subject{
					Provider: multi.Together("cuda", members, costmodel.Auto), Algorithms: algorithms, Thin: *thin * 24, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true,
				}
				for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Aggregates} {
					part(t, s)
				}
			})
		}
	}
}

// meetings are the strategies by which devices meet at a join.
var meetings = []costmodel.Strategy{costmodel.Exchange, costmodel.Spread}

// TestSuiteOfTeams has two devices, or two providers or eight of one, exchange the rows of joins or make one
// table. Joins at which they do not meet are executed by one of them alone.
func TestSuiteOfTeams(t *testing.T) {
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	layouts := [][]int{{0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}
	if len(all) > 1 {
		layouts = append(layouts, []int{0, 1}, []int{1, 0, 1, 0})
	}
	for _, how := range meetings {
		for _, ordinals := range layouts {
			t.Run(fmt.Sprint(how, ordinals), func(t *testing.T) {
				p := teamOf(t, how, 128<<20, 50, ordinals...)
				s := suite.Subject{Provider: p, Algorithms: algorithms, Thin: *thin * 24, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true}
				for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.AggregateTrees, suite.Skew, suite.Cancel} {
					part(t, s)
				}
			})
		}
	}
}

// everySecondOnHost places every second unit of a table on the host, the first one among them, and the others on devices in turn.
func everySecondOnHost(units int, free []int) []int {
	place := make([]int, units)
	for u := range place {
		if place[u] = costmodel.OnHost; u%2 == 1 {
			place[u] = u / 2 % len(free)
		}
	}
	return place
}

// TestSuiteOfHybridTables has one device, or two providers of one, make tables of which a part is on the host.
func TestSuiteOfHybridTables(t *testing.T) {
	for _, ordinals := range [][]int{{0}, {0, 0}} {
		t.Run(fmt.Sprint(ordinals), func(t *testing.T) {
			p := teamOf(t, costmodel.Hybrid, 128<<20, 50, ordinals...)
			s := suite.Subject{Provider: p, Algorithms: algorithms, Thin: *thin * 24, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true}
			for _, part := range []func(*testing.T, suite.Subject){suite.Matrix, suite.Sizes, suite.Trees, suite.Aggregates, suite.Skew, suite.Cancel} {
				part(t, s)
			}
		})
	}
}

// teamOf returns a provider over devices that meet at joins. Windows of probe sides have the given
// rows; 0: the provider decides.
func teamOf(t *testing.T, how costmodel.Strategy, budget, window int64, ordinals ...int) *multi.Provider {
	t.Helper()
	m, err := machines.Mesh("hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	return teamOver(t, m, how, budget, window, ordinals...)
}

// teamOver is teamOf with the mesh that the devices are told to be connected by.
func teamOver(t *testing.T, m *mesh.Mesh, how costmodel.Strategy, budget, window int64, ordinals ...int) *multi.Provider {
	t.Helper()
	var members []device.Provider
	for i, ordinal := range ordinals {
		p, err := New(Config{Ordinal: ordinal, Budget: budget, Streams: 2, Peers: ordinals})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		p.UseMesh(m, i)
		p.outOfCore.WindowRows = window
		if how == costmodel.Hybrid {
			p.place = everySecondOnHost
		}
		members = append(members, p)
	}
	return multi.Together("cuda", members, how)
}

// Random trees of which numbers, texts and wide values are returned: many have a join at which devices
// meet, of which some columns may be NULL on one device only. Where they do, statistics say so, and
// each row is returned once.
func TestTeams(t *testing.T) {
	for _, how := range meetings {
		t.Run(how.String(), func(t *testing.T) { treesOfTeams(t, how, []int{0, 0}, []int{0, 0, 0}) })
	}
	t.Run("hybrid", func(t *testing.T) { treesOfTeams(t, costmodel.Hybrid, []int{0}, []int{0, 0}) })
}

func treesOfTeams(t *testing.T, how costmodel.Strategy, layouts ...[]int) {
	for _, ordinals := range layouts {
		p, trees, met := teamOf(t, how, 128<<20, 7, ordinals...), 0, 0
		for seed := range uint64(200) {
			plan, inputs := suite.RandomTree(seed, 2+int(seed%3))
			if plan = suite.Meetable(plan); len(plan.Output) == 0 {
				continue
			}
			trees++
			stats := suite.Check(t, fmt.Sprintf("%v, seed %d", ordinals, seed), p, plan, inputs, 7, exec.Options{Device: device.Options{EmitRows: 5}})
			if stats.Alone != "" {
				if !strings.Contains(stats.Alone, joincore.ErrUnsupported.Error()) {
					t.Errorf("seed %d: %s", seed, stats.Alone)
				}
				continue
			}
			met++
			if !slices.ContainsFunc(stats.Joins, func(j joincore.JoinStats) bool { return strings.Contains(j.Algorithm, "+"+how.String()) }) {
				t.Errorf("seed %d: %+v", seed, stats.Joins)
			}
		}
		if met < trees/4 {
			t.Errorf("%v: devices met in %d of %d trees", ordinals, met, trees)
		}
	}
}

// layoutsOfTeams are the devices of teams, by number: several on the first device, and on two if there are.
func layoutsOfTeams(t *testing.T) [][]int {
	t.Helper()
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	layouts := [][]int{{0, 0}, {0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}
	if len(all) > 1 {
		layouts = append(layouts, []int{0, 1}, []int{1, 0, 1, 0})
	}
	return layouts
}

// Texts and wide values are those of the rows that meet, wherever these were and whatever reads them.
func TestTextsOfATeam(t *testing.T) {
	for _, how := range meetings {
		for _, ordinals := range layoutsOfTeams(t) {
			t.Run(fmt.Sprint(how, ordinals), func(t *testing.T) {
				p := teamOf(t, how, 128<<20, 90, ordinals...)
				for _, rows := range [][3]int{{0, 7, 3}, {1, 1, 1}, {5, 3, 1}, {30, 200, 16}, {300, 200, 90}, {600, 900, 128}} {
					for _, m := range suite.Meetings(rows[0], rows[1], rows[2]) {
						stats := suite.Check(t, fmt.Sprintf("%v rows, %s", rows, m.Name), p, m.Plan, m.Inputs, 1000, exec.Options{Device: device.Options{EmitRows: 100}})
						if stats.Alone != "" || stats.Strategy != how.String() {
							t.Errorf("%v rows, %s: %+v", rows, m.Name, stats)
						}
					}
				}
			})
		}
	}
}

// Columns that stay on the devices are read there by the next team, of which each device has the rows that it
// kept, in another order than the input's.
func TestKeptColumnsOfATeam(t *testing.T) {
	m, err := machines.Mesh("hgx-h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range meetings {
		for _, ordinals := range layoutsOfTeams(t) {
			t.Run(fmt.Sprint(how, ordinals), func(t *testing.T) {
				var members []device.Provider
				for i, ordinal := range ordinals {
					p := keeping(t, ordinal, 128<<20, 32<<20, ordinals...)
					p.UseMesh(m, i)
					members = append(members, p)
				}
				p := multi.Together("cuda", members, how)
				for _, meeting := range suite.Meetings(300, 450, 25) {
					for _, r := range meeting.Inputs { // every third segment has no name
						for i := range r.Segments {
							for j := range r.Segments[i].Columns {
								if v := &r.Segments[i].Columns[j]; i%3 < 2 && v.Content == 0 {
									v.Content = joincore.NewContent()
								}
							}
						}
					}
					for run := range 3 {
						stats := suite.Check(t, fmt.Sprintf("%s, run %d", meeting.Name, run), p, meeting.Plan, meeting.Inputs, 1000, exec.Options{})
						if stats.Alone != "" || stats.Strategy != how.String() {
							t.Errorf("%s, run %d: %+v", meeting.Name, run, stats)
						}
					}
				}
				for i, m := range members {
					if m.(*Provider).Resident() == 0 {
						t.Errorf("nothing has stayed on device %d", i)
					}
				}
			})
		}
	}
}

// If one device has too little memory for what it gets, or the caller gives up, no device is left
// behind, and all of them execute the next join. The first one has an error, the caller's, or one
// device has joined alone.
func TestATeamFails(t *testing.T) {
	const rows = 1 << 20
	one := suite.Keyed(rows, func(int) uint64 { return 7 }) // all rows have one key
	two := suite.Keyed(8, func(int) uint64 { return 7 })
	p := teamOf(t, costmodel.Exchange, 64<<20, 0, 0, 0)
	sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)
	run := func(ctx context.Context, left, right *joincore.Relation) (stats joincore.Stats, err error) {
		err = suite.Run(ctx, p, suite.PairPlan(left, right), []*joincore.Relation{left, right}, &suite.Arena{}, sink, exec.Options{}, &stats)
		return stats, err
	}
	if stats, err := run(t.Context(), one, two); err == nil && stats.RowsOut != 8*rows {
		t.Errorf("%+v", stats)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(cancelled, two, two); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	small := suite.Keyed(5000, func(row int) uint64 { return uint64(row) })
	if stats, err := run(t.Context(), small, small); err != nil || stats.Alone != "" || stats.RowsOut != 5000 {
		t.Errorf("%v, %+v", err, stats)
	}
}

// A device whose rows have a result that exceeds its memory joins fewer of them at a time. If a device cannot
// have its part of the table, or the caller gives up, all of them execute the next join.
func TestATableOfATeam(t *testing.T) {
	const rows = 1 << 20
	p := teamOf(t, costmodel.Spread, 64<<20, 0, 0, 0)
	sink := suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)
	run := func(ctx context.Context, left, right *joincore.Relation) (stats joincore.Stats, err error) {
		err = suite.Run(ctx, p, suite.PairPlan(left, right), []*joincore.Relation{left, right}, &suite.Arena{}, sink, exec.Options{}, &stats)
		return stats, err
	}
	one := func(n int) *joincore.Relation { return suite.Keyed(n, func(int) uint64 { return 7 }) }
	if stats, err := run(t.Context(), one(rows), one(8)); err != nil || stats.RowsOut != 8*rows || stats.Alone != "" {
		t.Errorf("a large result: %v, %+v", err, stats)
	}
	many := suite.Keyed(8*rows, func(row int) uint64 { return uint64(row) })
	if stats, err := run(t.Context(), many, many); err == nil && (stats.RowsOut != 8*rows || stats.Alone == "") {
		t.Errorf("a large build side: %+v", stats)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(cancelled, one(8), one(8)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	small := suite.Keyed(5000, func(row int) uint64 { return uint64(row) })
	for range 3 { // also in memory that the first one has given back
		if stats, err := run(t.Context(), small, small); err != nil || stats.Alone != "" || stats.RowsOut != 5000 || stats.Joins[0].Algorithm != columnar.SpreadName {
			t.Errorf("%v, %+v", err, stats)
		}
	}
}

// summed is a sink that adds up the values of both columns.
type summed struct {
	*suite.Discarder
	mu    sync.Mutex
	total [2]uint64
}

func (s *summed) Emit(ctx context.Context, b *joincore.Batch, rows int, heap []int) error {
	s.mu.Lock()
	for c := range s.total {
		for i := range rows {
			s.total[c] += binary.LittleEndian.Uint64(b.Columns[c].Values[8*i:])
		}
	}
	s.mu.Unlock()
	return s.Discarder.Emit(ctx, b, rows, heap)
}

// If a single row of the probe side has more partners than a device has memory for result rows, it is joined
// with a part of the build side at a time, on each device: no row is missing, and none is there twice.
func TestATableWithLargeResults(t *testing.T) {
	const rows, hot = 1 << 20, 3
	const probes = rows + 1<<12 // the larger side
	all, err := driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	build := suite.Keyed(rows, func(int) uint64 { return 7 })
	for _, second := range []int{0, len(all) - 1}[:min(len(all), 2)] {
		for _, at := range []int{0, probes - hot} { // the probe rows that have partners
			probe := suite.Keyed(probes, func(row int) uint64 {
				if row >= at && row < at+hot {
					return 7
				}
				return uint64(1000 + row)
			})
			p := teamOf(t, costmodel.Spread, 48<<20, 0, 0, second)
			sink := &summed{Discarder: suite.NewDiscarder(suite.Int64Columns(2), 4, 1<<16)}
			var stats joincore.Stats
			if err := suite.Run(t.Context(), p, suite.PairPlan(build, probe), []*joincore.Relation{build, probe}, &suite.Arena{}, sink, exec.Options{}, &stats); err != nil {
				t.Fatalf("devices 0 and %d: %v", second, err)
			}
			want := [2]uint64{hot * rows * (rows - 1) / 2, rows * (hot*uint64(at) + hot*(hot-1)/2)}
			if stats.Alone != "" || stats.RowsOut != hot*rows || sink.total != want || stats.Joins[0].Algorithm != columnar.SpreadName {
				t.Errorf("devices 0 and %d: %d rows, sums %v, want %v; %q, %q", second, stats.RowsOut, sink.total, want, stats.Joins[0].Algorithm, stats.Alone)
			}
			t.Logf("devices 0 and %d: %d bytes of results in %d bytes of memory", second, hot*rows*24, 48<<20)
		}
	}
}

// runSuite runs parts of the suite with one of times cases each, chosen at
// random. The logged seed repeats the choice.
func runSuite(t *testing.T, times uint64, change func(*Provider), parts ...func(*testing.T, suite.Subject)) {
	p := &poisoned{Provider: provider(t, 512<<20)}
	change(p.Provider)
	s := suite.Subject{
		Provider: p, Algorithms: algorithms, Thin: *thin * times, Offset: trials.Source(t).Uint64N(1 << 32), OwnMemory: true,
	}
	for _, part := range parts {
		part(t, s)
	}
	if err := p.Lost(); err != nil {
		t.Error(err)
	}
}

// mapped copies a relation into memory that is registered with the provider.
func mapped(t *testing.T, p *Provider, r *joincore.Relation) *joincore.Relation {
	t.Helper()
	out := &joincore.Relation{Columns: r.Columns}
	for _, s := range r.Segments {
		to := joincore.Segment{Rows: s.Rows}
		for _, v := range s.Columns {
			to.Columns = append(to.Columns, joincore.Vector{
				Values: registered(t, p, v.Values), Validity: registered(t, p, v.Validity), Heap: registered(t, p, v.Heap),
			})
		}
		out.Segments = append(out.Segments, to)
	}
	return out
}

func registered(t *testing.T, p *Provider, b []byte) []byte {
	t.Helper()
	if b == nil {
		return nil
	}
	mem, err := syscall.Mmap(-1, 0, len(b)+1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	release, err := p.Register(mem)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		release()
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	return mem[:copy(mem, b)]
}

// mappedSink has batches in registered memory.
type mappedSink struct {
	*suite.Collector
	t *testing.T
	p *Provider
}

func (s *mappedSink) NewBatch(ctx context.Context, heap []float64) (*joincore.Batch, error) {
	b, err := s.Collector.NewBatch(ctx, heap)
	if err != nil {
		return nil, err
	}
	for i := range b.Columns {
		v := &b.Columns[i]
		v.Values = registered(s.t, s.p, v.Values)
	}
	return b, nil
}

// TestRegisteredMemory has inputs and batches in registered memory, and every
// second probe side in windows.
func TestRegisteredMemory(t *testing.T) {
	p := provider(t, 256<<20)
	for seed := range uint64(12) {
		p.outOfCore.WindowRows = int64(seed%2) * 10
		plan, inputs := suite.RandomTree(seed, 2+int(seed%3))
		for i, r := range inputs {
			inputs[i] = mapped(t, p, r)
		}
		want, err := oracle.Run(plan, inputs)
		if err != nil {
			t.Fatal(err)
		}
		sink := &mappedSink{Collector: suite.NewCollector(plan, 5), t: t, p: p}
		if err := suite.Run(t.Context(), p, plan, inputs, nil, sink, exec.Options{}, nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := sink.Difference(want); diff != "" {
			t.Fatalf("seed %d\n%s", seed, diff)
		}
	}
}

// TestManyExecutionsAtOnce: each has a workspace of its own, and where there is none
// left the budget says so.
func TestManyExecutionsAtOnce(t *testing.T) {
	p := provider(t, 512<<20)
	var wait sync.WaitGroup
	for worker := range 6 {
		wait.Go(func() {
			for i := range 10 {
				seed := uint64(100*worker + i)
				plan, inputs := suite.RandomTree(seed, 3)
				if err := check(t.Context(), p, plan, inputs); err != nil && !errors.Is(err, joincore.ErrBudget) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	wait.Wait()
}

func check(ctx context.Context, p device.Provider, plan *joincore.Plan, inputs []*joincore.Relation) error {
	want, err := oracle.Run(plan, inputs)
	if err != nil {
		return err
	}
	sink := suite.NewCollector(plan, 9)
	if err := suite.Run(ctx, p, plan, inputs, nil, sink, exec.Options{}, nil); err != nil {
		return err
	}
	if diff := sink.Difference(want); diff != "" {
		return errors.New(diff)
	}
	return nil
}

func TestOpenUntilNoWorkspaceIsLeft(t *testing.T) {
	p := provider(t, 64<<20)
	var open []device.Device
	for {
		d, err := p.Open(nil, device.Options{})
		if errors.Is(err, joincore.ErrBudget) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, d)
	}
	if len(open) < 2 || len(open) > 8 {
		t.Errorf("%d executions at once", len(open))
	}
	largest := open[0].(*execution).workspace
	for _, d := range open {
		d.Close()
	}
	d, err := p.Open(nil, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.(*execution).workspace != largest {
		t.Error("the next execution has not got the largest workspace")
	}
	d.Close()
}

// TestLargeColumns: columns of several buffers, in segments of odd sizes, with
// NULLs, through kernels and copies of every width.
func TestLargeColumns(t *testing.T) {
	p := provider(t, 512<<20)
	r := rand.New(rand.NewPCG(3, 4))
	for _, rows := range []int{1, 300_001} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			in := wideRelation(r, rows)
			plan := &joincore.Plan{Inputs: []joincore.Input{{Columns: in.Columns}}, Root: &joincore.Scan{}}
			for j := range in.Columns {
				plan.Output = append(plan.Output, joincore.ColumnRef{Column: j})
			}
			if err := check(t.Context(), p, plan, []*joincore.Relation{in}); err != nil {
				t.Error(err)
			}
		})
	}
}

func wideRelation(r *rand.Rand, rows int) *joincore.Relation {
	out := &joincore.Relation{}
	for _, w := range []int{1, 2, 4, 8, 16, 24} {
		out.Columns = append(out.Columns, joincore.Column{Kind: joincore.Fixed, Width: w})
	}
	for left := rows; left > 0; {
		n := min(left, 1+r.IntN(300_000))
		left -= n
		s := joincore.Segment{Rows: n}
		for j, c := range out.Columns {
			v := joincore.Vector{Values: make([]byte, n*c.Width)}
			for i := range v.Values {
				v.Values[i] = byte(r.Uint32())
			}
			if (len(out.Segments)+j)%2 == 0 {
				v.Validity = make([]byte, (n+7)/8)
				for i := range v.Validity {
					v.Validity[i] = byte(r.Uint32())
				}
			}
			s.Columns = append(s.Columns, v)
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}
