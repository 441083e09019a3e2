//go:build cuda

package columnartest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// Case is one inner join to check.
type Case struct {
	Build, Probe int
	Keys         func(r *Rig, row int) uint64 // key of a row, of either side
	KeyBytes     int
	Widths       [2][]int // of the payload
	Expect       int64    // OutputRows; negative: the true number
	RowIDs       bool
	NoKey        bool
}

func (c Case) String() string {
	return fmt.Sprintf("%d x %d rows, keys of %d bytes, payload %v, row ids %v", c.Build, c.Probe, c.KeyBytes, c.Widths, c.RowIDs)
}

type side struct {
	keys    []Value
	payload [][]Value
}

// Inner runs a case and compares its result with the expected one, as multisets
// of rows.
func (r *Rig) Inner(f columnar.Func, c Case) {
	r.Helper()
	r.Must(r.Stream.Memset(r.Arena.Base(), 0xa5, r.Arena.Size()))
	defer r.Arena.Rewind(r.Arena.Mark())
	var host [2]side
	join := columnar.Join{RowIDs: c.RowIDs, NoKey: c.NoKey, Phases: true, OutputRows: c.Expect}
	for i, rows := range []int{c.Build, c.Probe} {
		s, on := &host[i], []*columnar.Side{&join.Build, &join.Probe}[i]
		for row := range rows {
			k := c.Keys(r, row)
			if c.KeyBytes == 4 {
				k &= math.MaxUint32
			}
			s.keys = append(s.keys, Value{k})
		}
		on.Rows, on.Key = int64(rows), r.Upload(s.keys, c.KeyBytes)
		for _, w := range c.Widths[i] {
			column := make([]Value, rows)
			for row := range column {
				var raw [16]byte
				Value{r.Rand.Uint64(), r.Rand.Uint64()}.put(raw[:], w)
				column[row] = get(raw[:], 16)
			}
			s.payload = append(s.payload, column)
			on.Payload = append(on.Payload, r.Upload(column, w))
		}
	}
	want := expected(c, host)
	if c.Expect < 0 {
		join.OutputRows = total(want)
	}
	// A guard after the arena detects writes beyond it.
	guard, err := r.Arena.Cut(driver.Line)
	r.Must(err)
	defer r.Arena.Extend(driver.Line)
	out, report, err := f(context.Background(), r.Context, r.Stream, r.Arena, &join)
	if err != nil {
		r.Fatalf("%v: %v", c, err)
	}
	for _, v := range r.Download(columnar.Column{Addr: guard, Bytes: 8}, driver.Line/8) {
		if v[0] != 0xa5a5a5a5a5a5a5a5 {
			r.Fatalf("%v: wrote behind its arena", c)
		}
	}
	if report.Launches == 0 || report.Syncs < 1 || report.MS <= 0 || report.PeakBytes <= 0 || len(report.Phases) < 2 {
		r.Errorf("%v: report %+v", c, report)
	}
	if bound := columnar.Bound(join.Build.Bytes()+join.Probe.Bytes(), join.Build.Rows+join.Probe.Rows, out.Rows*join.RowBytes()); report.PeakBytes > bound {
		r.Errorf("%v: %s takes %d bytes, its bound are %d", c, report.Algorithm, report.PeakBytes, bound)
	}
	got := r.rows(c, out)
	if !maps.Equal(got, want) {
		r.Fatalf("%v: %s\n%s", c, report.Algorithm, difference(got, want))
	}
}

// rows returns the multiset of a result's rows, as bytes of their values.
func (r *Rig) rows(c Case, out *columnar.Output) map[string]int64 {
	r.Helper()
	var columns [][]Value
	if !c.NoKey {
		columns = append(columns, r.Download(out.Key, out.Rows))
	}
	for _, column := range append(append([]columnar.Column(nil), out.Build...), out.Probe...) {
		columns = append(columns, r.Download(column, out.Rows))
	}
	rows := map[string]int64{}
	var b []byte
	for i := range out.Rows {
		b = b[:0]
		for _, column := range columns {
			b = column[i].append(b)
		}
		rows[string(b)]++
	}
	return rows
}

// expected joins by nested loops over rows of equal keys.
func expected(c Case, host [2]side) map[string]int64 {
	build := map[Value][]int{}
	for i, k := range host[0].keys {
		build[k] = append(build[k], i)
	}
	rows := map[string]int64{}
	var b []byte
	for j, k := range host[1].keys {
		for _, i := range build[k] {
			b = b[:0]
			if !c.NoKey {
				b = k.append(b)
			}
			for s, row := range []int{i, j} {
				if c.RowIDs {
					b = Value{uint64(row)}.append(b)
					continue
				}
				for _, column := range host[s].payload {
					b = column[row].append(b)
				}
			}
			rows[string(b)]++
		}
	}
	return rows
}

func total(rows map[string]int64) (n int64) {
	for _, k := range rows {
		n += k
	}
	return n
}

// difference shows some rows that are missing or unexpected.
func difference(got, want map[string]int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "returned %d rows in place of %d", total(got), total(want))
	shown := 0
	for row, n := range want {
		if got[row] != n && shown < 5 {
			fmt.Fprintf(&b, "\n%x: %d in place of %d", row, got[row], n)
			shown++
		}
	}
	for row, n := range got {
		if want[row] == 0 && shown < 10 {
			fmt.Fprintf(&b, "\n%x: %d in place of none", row, n)
			shown++
		}
	}
	return b.String()
}
