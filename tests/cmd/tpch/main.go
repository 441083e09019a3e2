// Command tpch runs TPC-H queries natively, forced into the daemon, and by the
// planner's own choice, compares the full results, and writes the measurements
// to build/tpch.json.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/tpch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tpch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	sf := flag.Float64("sf", 1, "scale factor")
	chosen := flag.String("queries", "", "numbers of the queries; none: all 22")
	runs := flag.Int("runs", 3, "runs of each query in each mode; the median counts")
	flag.Parse()
	numbers, err := tpch.Numbers(*chosen)
	if err != nil {
		return err
	}

	fmt.Printf("TPC-H at scale factor %g, medians of %d runs\n", *sf, *runs)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	pair, s, err := tpch.Start(ctx, env, *sf, func(what string) { fmt.Println("  " + what) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), pair.Stop()) }()

	var measured []*tpch.Measurement
	for _, n := range numbers {
		fmt.Printf("  query %d\n", n)
		m, err := tpch.Measure(ctx, s, n, *sf, *runs)
		if err != nil {
			return fmt.Errorf("query %d: %w", n, err)
		}
		measured = append(measured, m)
	}
	if err := measure.WriteJSON(filepath.Join(env.Root, "build", "tpch.json"), measured); err != nil {
		return err
	}
	fmt.Println(measure.Circumstances(env.Root))
	fmt.Println(tpch.DescribeSettings())
	return print(measured)
}

// summary prints what the whole set gains.
func summary(measured []*tpch.Measurement) {
	auto, forced, offloaded := 0.0, 0.0, 0
	for _, m := range measured {
		auto += math.Log(m.NativeMs / m.AutoMs)
		forced += math.Log(m.NativeMs / m.OffloadMs)
		if m.AutoJoins+m.AutoBlocks > 0 {
			offloaded++
		}
	}
	n := float64(len(measured))
	fmt.Printf("geometric means: native/automatic %.2f, native/offloaded %.2f; %d of %d queries offloaded by automatic choice\n",
		math.Exp(auto/n), math.Exp(forced/n), offloaded, len(measured))
}

func print(measured []*tpch.Measurement) error {
	rows := []string{"query\tnative ms\toffloaded ms\tratio\tautomatic ms\tjoins offloaded\tautomatic\tblocks\tautomatic\trows\tequal"}
	different := 0
	for _, m := range measured {
		rows = append(rows, fmt.Sprintf("%d\t%.1f\t%.1f\t%.2f\t%.1f\t%d\t%d\t%d\t%d\t%d\t%v",
			m.Query, m.NativeMs, m.OffloadMs, m.NativeMs/m.OffloadMs, m.AutoMs,
			m.OffloadedJoins, m.AutoJoins, m.Blocks, m.AutoBlocks, m.Rows, m.Equal))
		if !m.Equal {
			different++
		}
	}
	if err := measure.Table(os.Stdout, rows...); err != nil {
		return err
	}
	summary(measured)
	if different > 0 {
		for _, m := range measured {
			if !m.Equal {
				fmt.Printf("query %d: %s\n", m.Query, m.Difference)
			}
		}
		return fmt.Errorf("%d queries returned other rows than the native plan", different)
	}
	return nil
}
