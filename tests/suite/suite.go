// Package suite measures a suite of queries in the three ways in which a server
// with the extension can run them: natively, forced into the daemon, and as the
// planner chooses.
package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gpujoin/tests/harness"
)

// Query is one query of a suite.
type Query struct {
	Number int    `json:"number"`
	SQL    string `json:"sql"`
}

// Settings returns the server's settings: everything in memory, and what is
// usual for a machine with few cores. Queries read all rows from their tables: nothing is
// kept between them.
func Settings() harness.Settings {
	return harness.Settings{
		"shared_buffers":                  "3GB",
		"effective_cache_size":            "6GB",
		"work_mem":                        "128MB",
		"random_page_cost":                "1.1",
		"max_parallel_workers_per_gather": "2",
		"jit":                             "off",
		"gpujoin.keep":                    "off",
	}
}

// KeptSettings returns Settings for queries over kept columns.
func KeptSettings() harness.Settings {
	s := Settings()
	s["gpujoin.keep"] = "auto"
	return s
}

// DescribeSettings returns settings as one line.
func DescribeSettings(s harness.Settings) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+" = "+s[name])
	}
	return strings.Join(parts, ", ")
}

// Numbers parses a list of numbers of queries, 1 to last; an empty list means all.
func Numbers(chosen string, last int) ([]int, error) {
	var numbers []int
	for _, field := range strings.FieldsFunc(chosen, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > last {
			return nil, fmt.Errorf("%q is not the number of a query, 1 to %d", field, last)
		}
		numbers = append(numbers, n)
	}
	if numbers == nil {
		for n := range last {
			numbers = append(numbers, n+1)
		}
	}
	return numbers, nil
}

// mostWorkers bounds the workers of a Gather: the server has so many worker processes.
const mostWorkers = 16

// WorkerCounts parses numbers of workers for each Gather.
func WorkerCounts(text string) (counts []int, err error) {
	for _, field := range strings.Fields(text) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > mostWorkers {
			return nil, fmt.Errorf("%q is no number of workers, 0 to %d", field, mostWorkers)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// withWorkers adds what a server needs for these numbers of workers.
func withWorkers(s harness.Settings, counts []int) {
	if len(counts) > 0 {
		s["max_parallel_workers"] = strconv.Itoa(mostWorkers)
		s["max_worker_processes"] = strconv.Itoa(mostWorkers + 8)
	}
}

// Start starts a private server with the extension, its daemon and a session,
// loads the data and reads it into shared buffers. The caller stops and closes them.
func Start(ctx context.Context, env *harness.Env, settings harness.Settings, load func(*harness.Session) error) (*harness.Pair, *harness.Session, error) {
	pair, err := env.StartPair(settings, nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := pair.Cluster.Connect(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, pair.Stop())
	}
	if err = load(s); err == nil {
		err = Warm(ctx, s)
	}
	if err == nil {
		err = s.Exec(ctx, "create extension gpujoin")
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close(), pair.Stop())
	}
	return pair, s, nil
}
