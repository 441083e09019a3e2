package tpch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Settings returns the server's settings: everything in memory, and what is
// usual for a machine with few cores.
func Settings() harness.Settings {
	return harness.Settings{
		"shared_buffers":                  "3GB",
		"effective_cache_size":            "6GB",
		"work_mem":                        "128MB",
		"random_page_cost":                "1.1",
		"max_parallel_workers_per_gather": "2",
		"jit":                             "off",
	}
}

// DescribeSettings returns Settings as one line.
func DescribeSettings() string {
	s := Settings()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+" = "+s[name])
	}
	return strings.Join(parts, ", ")
}

// Measurement is the entry of a query in build/tpch.json.
type Measurement struct {
	Query          int     `json:"query"`
	NativeMs       float64 `json:"native_ms"`
	OffloadMs      float64 `json:"offload_ms"`
	AutoMs         float64 `json:"auto_ms"`
	OffloadedJoins int     `json:"offloaded_joins"` // executed in the daemon when forced
	AutoJoins      int     `json:"auto_joins"`      // by the planner's own choice
	Blocks         int     `json:"blocks"`          // aggregations executed in the daemon when forced
	AutoBlocks     int     `json:"auto_blocks"`
	Rows           int     `json:"rows"`
	Equal          bool    `json:"equal"`
	Difference     string  `json:"difference,omitempty"`
}

// Modes of running a query, as settings of the session.
const (
	Native    = "set gpujoin.enabled = off; set gpujoin.force = off"
	Forced    = "set gpujoin.enabled = on; set gpujoin.force = on"
	Automatic = "set gpujoin.enabled = on; set gpujoin.force = off"
)

// Measure runs query n in the three modes in turn, runs times each, after one
// native run that warms the caches. Each round begins with another mode, so
// that no mode always pays for the previous one: cold caches, and memory that
// the daemon clears.
func Measure(ctx context.Context, s *harness.Session, n int, sf float64, runs int) (*Measurement, error) {
	sql, err := Query(n, sf)
	if err != nil {
		return nil, err
	}
	m := &Measurement{Query: n, Equal: true}
	if err := s.Exec(ctx, Native); err != nil {
		return nil, err
	}
	want, err := s.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	m.Rows = len(want.Rows)
	times := map[string][]float64{}
	modes := []string{Native, Forced, Automatic}
	for round := range runs {
		for i := range modes {
			mode := modes[(round+i)%len(modes)]
			if err := s.Exec(ctx, mode); err != nil {
				return nil, err
			}
			begin := time.Now()
			got, err := s.Query(ctx, sql)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", mode, err)
			}
			times[mode] = append(times[mode], measure.Ms(time.Since(begin)))
			if d := harness.SameRows(want, got); d != "" && m.Equal {
				m.Equal, m.Difference = false, mode+": "+d
			}
		}
	}
	m.NativeMs = measure.Median(times[Native])
	m.OffloadMs = measure.Median(times[Forced])
	m.AutoMs = measure.Median(times[Automatic])
	if m.OffloadedJoins, m.Blocks, err = offloaded(ctx, s, Forced, sql); err != nil {
		return nil, err
	}
	if m.AutoJoins, m.AutoBlocks, err = offloaded(ctx, s, Automatic, sql); err != nil {
		return nil, err
	}
	return m, s.Exec(ctx, "reset all")
}

// offloaded counts the joins and query blocks that the daemon executes.
func offloaded(ctx context.Context, s *harness.Session, mode, sql string) (joins, blocks int, err error) {
	if err := s.Exec(ctx, mode); err != nil {
		return 0, 0, err
	}
	plan, err := s.Explain(ctx, "analyze, timing off", sql)
	if err != nil {
		return 0, 0, err
	}
	return plan.OffloadedJoins(), plan.OffloadedBlocks(), nil
}
