//go:build cuda

package phj

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/resident"
)

// bed is a device on which joins are tested.
type bed struct {
	d      *driver.Context
	stream *driver.Stream
	arena  *driver.Arena
	host   *driver.Host
}

const (
	arenaBytes = 256 << 20
	guardBytes = 1 << 20
	poison     = 0xa5
)

func newBed(t *testing.T) *bed {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := driver.Open(0)
	must(err)
	b := &bed{d: d}
	b.stream, err = d.NewStream()
	must(err)
	b.arena, err = d.NewArena(arenaBytes)
	must(err)
	b.host, err = d.Pinned(64 << 20)
	must(err)
	t.Cleanup(func() {
		must(Close(d))
		must(b.host.Free())
		must(b.arena.Close())
		must(b.stream.Close())
		must(d.Close())
	})
	return b
}

// trial is one join to be compared with the host's.
type trial struct {
	rows    [2]int
	keys    int // distinct keys on either side at most
	key     int // bytes
	widths  [2][]int
	options Options
	rowIDs  bool
	noKey   bool
	room    int64   // for the result; 0: what it takes
	hot     float64 // probe rows with one of three keys
}

func (c trial) String() string {
	return fmt.Sprintf("%v rows, %d keys of %d bytes, payload %v, %+v, row ids %v, no key %v, room %d, hot %v",
		c.rows, c.keys, c.key, c.widths, c.options, c.rowIDs, c.noKey, c.room, c.hot)
}

// table is a side in host memory: the key column, then payload columns.
type table struct {
	widths  []int
	columns [][]byte
}

func (s table) row(i int, columns []int) string {
	var b strings.Builder
	for _, c := range columns {
		w := s.widths[c]
		b.Write(s.columns[c][i*w : (i+1)*w])
	}
	return b.String()
}

// random makes a side. Key 0, the largest key, and keys that share their low or
// their high half are among the keys.
func random(r *rand.Rand, rows, keys, key int, widths []int, hot float64) table {
	s := table{widths: append([]int{key}, widths...)}
	for _, w := range s.widths {
		column := make([]byte, rows*w)
		for i := range column {
			column[i] = byte(r.Uint32())
		}
		s.columns = append(s.columns, column)
	}
	for i := range rows {
		k := r.Uint64N(uint64(keys))
		if r.Float64() < hot {
			k = 5 + r.Uint64N(3)
		}
		switch {
		case k == 1:
			k = ^uint64(0)
		case k%2 == 0:
			k = k<<32 | k>>1
		}
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], k)
		copy(s.columns[0][i*key:], full[:key])
	}
	return s
}

// unique gives each build row a key of its own, so that keys can be hot.
func unique(s table) {
	key := s.widths[0]
	for i := range len(s.columns[0]) / key {
		var full [8]byte
		binary.LittleEndian.PutUint64(full[:], uint64(2*i+3))
		copy(s.columns[0][i*key:], full[:key])
	}
}

// reference returns the sorted rows of the join.
func (c trial) reference(build, probe table) []string {
	all := func(s table) (columns []int) {
		for i := 1; i < len(s.widths); i++ {
			columns = append(columns, i)
		}
		return columns
	}
	index := map[string][]int{}
	for i := range c.rows[0] {
		k := build.row(i, []int{0})
		index[k] = append(index[k], i)
	}
	var out []string
	for j := range c.rows[1] {
		k := probe.row(j, []int{0})
		for _, i := range index[k] {
			row := k
			if c.noKey {
				row = ""
			}
			if c.rowIDs {
				row += string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(i)), uint32(j)))
			} else {
				row += build.row(i, all(build)) + probe.row(j, all(probe))
			}
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return out
}

// upload copies a side to the device.
func (b *bed) upload(s table, rows int) (side resident.Side, err error) {
	side.Rows = int64(rows)
	for i, column := range s.columns {
		at, err := b.arena.Take(int64(len(column)) + driver.Line)
		if err != nil {
			return side, err
		}
		copy(b.host.Bytes(), column)
		if err := b.stream.CopyIn(at, b.host.Bytes()[:len(column)]); err != nil {
			return side, err
		}
		if err := b.stream.Sync(context.Background()); err != nil {
			return side, err
		}
		c := resident.Column{Addr: at, Bytes: s.widths[i]}
		if i == 0 {
			side.Key = c
		} else {
			side.Payload = append(side.Payload, c)
		}
	}
	return side, nil
}

// download returns the sorted rows of a result.
func (b *bed) download(o *resident.Output) ([]string, error) {
	rows := make([][]byte, o.Rows)
	for _, c := range append(append([]resident.Column{o.Key}, o.Build...), o.Probe...) {
		if c.Bytes == 0 {
			continue
		}
		host := b.host.Bytes()[:int(o.Rows)*c.Bytes]
		if err := b.stream.CopyOut(host, c.Addr); err != nil {
			return nil, err
		}
		if err := b.stream.Sync(context.Background()); err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i] = append(rows[i], host[i*c.Bytes:(i+1)*c.Bytes]...)
		}
	}
	out := make([]string, len(rows))
	for i := range rows {
		out[i] = string(rows[i])
	}
	slices.Sort(out)
	return out, nil
}

// check runs a trial and says what is wrong with it.
func (b *bed) check(c trial, r *rand.Rand) error {
	b.arena.Rewind(0)
	build := random(r, c.rows[0], c.keys, c.key, c.widths[0], 0)
	if c.hot > 0 {
		unique(build)
	}
	probe := random(r, c.rows[1], c.keys, c.key, c.widths[1], c.hot)
	want := c.reference(build, probe)
	j := resident.Join{OutputRows: c.room, RowIDs: c.rowIDs, NoKey: c.noKey, Phases: r.IntN(4) == 0}
	if c.room == 0 {
		j.OutputRows = int64(len(want))
	}
	var err error
	if j.Build, err = b.upload(build, c.rows[0]); err != nil {
		return err
	}
	if j.Probe, err = b.upload(probe, c.rows[1]); err != nil {
		return err
	}
	base := b.arena.Mark()
	if err := b.stream.Memset(b.arena.Base()+driver.Ptr(base), poison, b.arena.Size()-int64(base)); err != nil {
		return err
	}
	o, report, err := Run(context.Background(), b.d, b.stream, b.arena, &j, c.options)
	if err != nil {
		return err
	}
	if o.Rows != int64(len(want)) {
		return fmt.Errorf("%s returned %d rows in place of %d", report.Algorithm, o.Rows, len(want))
	}
	got, err := b.download(o)
	if err != nil {
		return err
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("%s: sorted row %d is %x in place of %x", report.Algorithm, i, got[i], want[i])
		}
	}
	if want := len(report.Phases) > 0; want != j.Phases || report.Syncs < 1 || report.PeakBytes < j.Build.Bytes() {
		return fmt.Errorf("report: %+v", report)
	}
	// Nothing was written behind what the join has taken at most.
	end := b.arena.Base() + driver.Ptr(base) + driver.Ptr(report.PeakBytes-j.Build.Bytes()-j.Probe.Bytes())
	if int64(end-b.arena.Base())+guardBytes > b.arena.Size() {
		return nil
	}
	guard := b.host.Bytes()[:guardBytes]
	if err := b.stream.CopyOut(guard, end); err != nil {
		return err
	}
	if err := b.stream.Sync(context.Background()); err != nil {
		return err
	}
	if i := slices.IndexFunc(guard, func(v byte) bool { return v != poison }); i >= 0 {
		return fmt.Errorf("%s wrote %d bytes behind its memory", report.Algorithm, i)
	}
	return nil
}

func (b *bed) run(t *testing.T, trials []trial) {
	seed := rand.Uint64()
	t.Logf("%d joins, seed %d", len(trials), seed)
	for i, c := range trials {
		if err := b.check(c, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
			t.Errorf("trial %d, %v: %v", i, c, err)
		}
	}
}

func TestJoin(t *testing.T) {
	b := newBed(t)
	t.Run("payloads", func(t *testing.T) { b.run(t, payloads()) })
	t.Run("sizes", func(t *testing.T) { b.run(t, sizes()) })
	t.Run("duplicates", func(t *testing.T) { b.run(t, duplicates()) })
	t.Run("room", func(t *testing.T) { b.run(t, rooms()) })
	t.Run("hot", func(t *testing.T) { b.run(t, hotKeyed()) })
}

var options = []Options{{Materialise: "om"}, {Materialise: "um"}, {Materialise: "place"}, {Materialise: "om", Bits: 10}, {Materialise: "um", Bits: 10}, {Materialise: "place", Bits: 10}}

// Every form of payload, in one pass and in two.
func payloads() (list []trial) {
	widths := [][]int{nil, {4}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}, {8}, {8, 8}, {8, 8, 8, 8}, {1}, {2, 1, 16}, {16, 16, 4}, {8, 8, 8}, {4, 4, 4, 4, 4}}
	for _, key := range []int{4, 8} {
		for i, build := range widths {
			for k, probe := range widths {
				for n, o := range options {
					// All pairs of those with kernels of their own, a third of the others.
					if max(i, k) >= 8 && (i+k+n)%3 != 0 {
						continue
					}
					list = append(list, trial{rows: [2]int{4000, 6000}, keys: 3500, key: key, widths: [2][]int{build, probe}, options: o})
				}
			}
		}
		for _, o := range options {
			list = append(list, trial{rows: [2]int{4000, 6000}, keys: 3500, key: key, widths: [2][]int{{4}, {8}}, options: o, rowIDs: true})
			list = append(list, trial{rows: [2]int{4000, 6000}, keys: 3500, key: key, widths: [2][]int{{4, 4}, {4}}, options: o, noKey: true})
		}
	}
	return list
}

// Sizes around warps and tiles.
func sizes() (list []trial) {
	two := [2][]int{{4, 4}, {4, 4}}
	for _, r := range []int{0, 1, 31, 32, 33, 511, 512, 8191, 8192, 8193} {
		for _, s := range []int{0, 1, 31, 32, 33, 8191, 8192, 8193} {
			for _, o := range []Options{{Materialise: "om"}, {Materialise: "um", Bits: 9}, {Materialise: "place", Bits: 9}} {
				list = append(list, trial{rows: [2]int{r, s}, keys: r + s + 1, key: 4, widths: two, options: o})
			}
		}
	}
	return append(list,
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 4, widths: two, options: Options{Materialise: "om", Bits: 16}},
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 8, widths: two, options: Options{Materialise: "place", Bits: 15}},
		trial{rows: [2]int{300000, 500000}, keys: 250000, key: 4, widths: two, options: Options{}})
}

// Few keys on both sides, build sides of several chunks, one key.
func duplicates() (list []trial) {
	for _, keys := range []int{1, 2, 7, 100, 1000} {
		for _, key := range []int{4, 8} {
			for _, bits := range []int{0, 4, 12} {
				for _, how := range []string{"om", "um", "place"} {
					o := Options{Materialise: how, Bits: bits}
					rows, few := 12000, 300
					if keys < 100 {
						rows, few = 1500, 30
					}
					two, one := [2][]int{{key, key}, {key, key}}, [2][]int{{key}, {key}}
					list = append(list,
						trial{rows: [2]int{rows, rows}, keys: keys, key: key, widths: two, options: o},
						trial{rows: [2]int{20000, few}, keys: keys, key: key, widths: one, options: o},
						trial{rows: [2]int{few, 60000}, keys: keys, key: key, widths: one, options: o})
				}
			}
		}
	}
	return list
}

// Results larger than what was expected are returned whole.
func rooms() (list []trial) {
	for _, o := range append(options, Options{Materialise: "bypass"}) {
		list = append(list, trial{rows: [2]int{40000, 40000}, keys: 400, key: 4, widths: [2][]int{{4, 4}, {4, 2}}, options: o, room: 1000})
		list = append(list, trial{rows: [2]int{40000, 400000}, keys: 80000, key: 4, widths: [2][]int{{4}, {4}}, options: o, room: 1, hot: 0.7})
	}
	return list
}

// Hot keys go round the partitions, or do not where they have several build rows.
func hotKeyed() (list []trial) {
	for _, key := range []int{4, 8} {
		for _, widths := range [][2][]int{{{4}, {4}}, {{4, 4}, {4, 4}}, {{4, 4, 4, 4}, {4, 4, 4, 4}}, {{8, 8}, {8, 8}}, {{1}, {2}}, {{8}, {4}}} {
			for _, hot := range []float64{0, 0.3, 0.95} {
				list = append(list, trial{rows: [2]int{20000, 50000}, keys: 30000, key: key, widths: widths, options: Options{Materialise: "bypass"}, hot: hot},
					trial{rows: [2]int{20000, 50001}, keys: 30000, key: key, widths: widths, options: Options{Materialise: "bypass", Bits: 11}, hot: hot})
			}
		}
	}
	return list
}
