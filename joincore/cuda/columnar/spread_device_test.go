//go:build cuda

package columnar_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/testsupport/columnartest"
)

// spreadOver joins with a table in the memory of some devices, which are one. Each has a part of the
// build rows; the probe rows are those of one of them. Joins that return row ids are not of
// this kind.
func spreadOver(devices, probes int) columnar.Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		if j.RowIDs {
			return columnar.NPJ(ctx, d, s, a, j)
		}
		if err := s.Sync(ctx); err != nil { // keys are read on other streams
			return nil, nil, err
		}
		var members []columnar.SpreadMember
		for i := range devices {
			m := columnar.SpreadMember{Device: d, Stream: s, Arena: a, Build: piece(&j.Build, i, devices)}
			if i != probes {
				stream, err := d.NewStream()
				if err != nil {
					return nil, nil, err
				}
				defer stream.Close()
				m.Stream = stream
				if m.Arena, err = a.Part(a.Free() / 16); err != nil {
					return nil, nil, err
				}
			}
			members = append(members, m)
		}
		table, err := columnar.BuildSpread(ctx, members, costmodel.Interleave)
		if err != nil {
			return nil, nil, err
		}
		own := *j
		own.Build = members[probes].Build
		out, report, err := table.Probe(probes)(ctx, d, s, a, &own)
		if err == nil && (report.Algorithm != columnar.SpreadName || table.MS <= 0) {
			err = fmt.Errorf("%s, %.3f ms", report.Algorithm, table.MS)
		}
		return out, report, err
	}
}

// piece returns part i of n of a side. The first one of several has no rows.
func piece(s *columnar.Side, i, n int) columnar.Side {
	bound := func(i int) int64 { return s.Rows * int64(max(i-1, 0)) / int64(max(n-1, 1)) / 16 * 16 }
	first, end := bound(i), bound(i+1)
	if n == 1 || i == n-1 {
		end = s.Rows
	}
	if n == 1 {
		first = 0
	}
	out := columnar.Side{Rows: end - first, Key: s.Key, Payload: slices.Clone(s.Payload), Pending: s.Pending}
	out.Key.Addr += driver.Ptr(first * int64(s.Key.Bytes))
	for k := range out.Payload {
		out.Payload[k].Addr += driver.Ptr(first * int64(s.Payload[k].Bytes))
	}
	return out
}

// A table in one to eight memories joins as one in one memory does.
func TestSpreadTables(t *testing.T) {
	for _, c := range [][2]int{{1, 0}, {2, 1}, {3, 0}, {8, 5}} {
		t.Run(fmt.Sprintf("%d devices", c[0]), func(t *testing.T) {
			columnartest.New(t, 1<<28).Matrix(spreadOver(c[0], c[1]), 256, 1024)
		})
	}
}

// Devices with too little memory make no table, and say so.
func TestSpreadTablesNeedMemory(t *testing.T) {
	r := columnartest.New(t, 1<<28)
	r.Inner(func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (*columnar.Output, *columnar.Report, error) {
		small, err := a.Part(64 << 10)
		if err != nil {
			return nil, nil, err
		}
		members := []columnar.SpreadMember{{Device: d, Stream: s, Arena: small, Build: j.Build}, {Device: d, Stream: s, Arena: small, Build: columnar.Side{Key: j.Build.Key, Payload: j.Build.Payload}}}
		if _, err := columnar.BuildSpread(ctx, members, costmodel.Interleave); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("with 64 KB: %v", err)
		}
		return columnar.NPJ(ctx, d, s, a, j)
	}, columnartest.Case{Build: 100000, Probe: 1000, Keys: columnartest.Spread(100000), KeyBytes: 8, Widths: [2][]int{{4}, {4}}, Expect: -1})
}
