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
	return tableOver(devices, probes, columnar.Placing{On: costmodel.Interleave}, columnar.SpreadName)
}

// hybridOver is spreadOver with each `every`th unit on the host.
func hybridOver(devices, probes, every int) columnar.Func {
	place := func(units int, _ []int) []int {
		list := make([]int, units)
		for u := range list {
			if list[u] = u % devices; u%every == 0 {
				list[u] = costmodel.OnHost
			}
		}
		return list
	}
	return tableOver(devices, probes, columnar.Placing{On: place}, columnar.HybridName)
}

// memoryOfTables is that of a device besides its rows: so little that units for the host are made a few at a time.
const memoryOfTables = 3 << 20

// tableOver joins with a table whose units lie where a placement says. Host memory is of the test.
func tableOver(devices, probes int, where columnar.Placing, name string) columnar.Func {
	return func(ctx context.Context, d *driver.Context, s *driver.Stream, a *driver.Arena, j *columnar.Join) (_ *columnar.Output, _ *columnar.Report, err error) {
		if j.RowIDs {
			return columnar.NPJ(ctx, d, s, a, j)
		}
		if err := s.Sync(ctx); err != nil { // keys are read on other streams
			return nil, nil, err
		}
		var host *driver.Host
		defer func() { err = errors.Join(err, host.Free()) }()
		where := where
		if name == columnar.HybridName {
			where.Host = func(bytes int64) (_ []byte, err error) {
				if host, err = d.Pinned(bytes); err != nil {
					return nil, err
				}
				return host.Bytes(), nil
			}
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
			}
			if m.Arena, err = a.Part(memoryOfTables); err != nil {
				return nil, nil, err
			}
			members = append(members, m)
		}
		table, err := columnar.BuildSpread(ctx, members, where)
		if err != nil {
			return nil, nil, err
		}
		own := *j
		own.Build = members[probes].Build
		out, report, err := table.Probe(probes)(ctx, d, s, a, &own)
		if err == nil && (report.Algorithm != name || table.MS <= 0) {
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

// A table of which some or all units are on the host joins as well, also that of one device.
func TestHybridTables(t *testing.T) {
	for _, c := range [][3]int{{1, 0, 2}, {1, 0, 1}, {3, 1, 2}} {
		t.Run(fmt.Sprintf("%d devices, every %d on the host", c[0], c[2]), func(t *testing.T) {
			columnartest.New(t, 1<<28).Matrix(hybridOver(c[0], c[1], c[2]), 256, 1024)
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
		if _, err := columnar.BuildSpread(ctx, members, columnar.Placing{On: costmodel.Interleave}); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("with 64 KB: %v", err)
		}
		return columnar.NPJ(ctx, d, s, a, j)
	}, columnartest.Case{Build: 100000, Probe: 1000, Keys: columnartest.Spread(100000), KeyBytes: 8, Widths: [2][]int{{4}, {4}}, Expect: -1})
}
