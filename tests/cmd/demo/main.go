// Command demo shows one offloaded join: its plan, a comparison of its rows
// with the native plan's, and the times of the native plan, of the join over tables that
// are read for it, and over columns that the daemon has kept. With the argument foreign it
// shows tables of another server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
	"gpujoin/tests/suite"
	"gpujoin/tests/tpch"
)

const (
	scaleFactor = 0.1
	runs        = 5
)

// shown is the join whose plan is printed; it returns many rows.
const shown = `select o_orderkey, o_orderdate, l_partkey, l_extendedprice, c_name
from customer join orders on c_custkey = o_custkey join lineitem on o_orderkey = l_orderkey
where o_orderdate >= date '1995-01-01'`

// sums is the same join with one result row, so that returning rows does not dominate.
const sums = `select count(*), sum(l_extendedprice), sum(o_totalprice), max(c_acctbal)
from customer join orders on c_custkey = o_custkey join lineitem on o_orderkey = l_orderkey`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	show := run
	if len(os.Args) > 1 && os.Args[1] == "foreign" {
		show = runForeign
	}
	if err := show(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { fmt.Printf("demo: "+format+"\n", args...) }

func run(ctx context.Context) (err error) {
	say("starting a private server and the daemon, with TPC-H at scale factor %g", scaleFactor)
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	pair, s, err := suite.Start(ctx, env, suite.KeptSettings(), func(s *harness.Session) error {
		return tpch.Load(ctx, env, s, scaleFactor, func(what string) { say("  %s", what) })
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), pair.Stop()) }()
	mode, err := showPlan(ctx, s)
	if err != nil {
		return err
	}
	return compare(ctx, s, mode)
}

// showPlan prints the native and the offloaded plan, and returns the mode in
// which the join is offloaded: the planner's own choice if possible.
func showPlan(ctx context.Context, s *harness.Session) (mode string, err error) {
	fmt.Printf("\n%s;\n", shown)
	if err := printPlan(ctx, s, suite.Native, "explain (costs off) ", "without gpujoin"); err != nil {
		return "", err
	}
	mode, title := suite.Automatic, "with gpujoin"
	if err := s.Exec(ctx, mode); err != nil {
		return "", err
	}
	plan, err := s.Explain(ctx, "", shown)
	if err != nil {
		return "", err
	}
	if len(plan.Jobs()) == 0 {
		mode, title = suite.Forced, "with gpujoin, and gpujoin.debug_force = on: the planner would leave so little data native"
	}
	if err := printPlan(ctx, s, mode, "explain (costs off) ", title); err != nil {
		return "", err
	}
	return mode, printPlan(ctx, s, mode, "explain (analyze, costs off, timing off) ", "executed; the last child is the native plan that would have run without the daemon")
}

func printPlan(ctx context.Context, s *harness.Session, mode, explain, title string) error {
	if err := s.Exec(ctx, mode); err != nil {
		return err
	}
	r, err := s.Query(ctx, explain+shown)
	if err != nil {
		return err
	}
	fmt.Printf("\n-- %s\n", title)
	for _, line := range r.Rows {
		fmt.Println("  " + line)
	}
	return nil
}

// way is how a query runs: the session's settings, and what they are called in the table.
type way struct{ name, set string }

// compare runs queries in each way, and prints medians.
func compare(ctx context.Context, s *harness.Session, mode string) error {
	fmt.Println()
	say("running natively and offloaded, %d times each: fed, tables are read for the join; kept, the daemon has kept their columns", runs)
	q3, err := tpch.Query(3, scaleFactor)
	if err != nil {
		return err
	}
	q9, err := tpch.Query(9, scaleFactor)
	if err != nil {
		return err
	}
	ways := []way{
		{"native", suite.Native},
		{"fed", mode + "; set gpujoin.keep = off"},
		{"kept", mode + "; set gpujoin.keep = auto"},
	}
	heading := "query"
	for _, w := range ways {
		heading += "\t" + w.name + " ms"
	}
	table := []string{heading + "\trows\tsame rows"}
	different := false
	for _, q := range []struct{ name, sql string }{
		{"the join above", shown}, {"sums of it all", sums}, {"TPC-H 3", q3}, {"TPC-H 9", q9},
	} {
		if _, err := suite.WarmKept(ctx, s, q.sql, mode); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		row, same, err := compareOne(ctx, s, ways, q.sql)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		table = append(table, q.name+"\t"+row)
		different = different || !same
	}
	fmt.Println()
	if err := measure.Table(os.Stdout, table...); err != nil {
		return err
	}
	if different {
		return errors.New("offloaded queries returned other rows")
	}
	return nil
}

// compareOne runs a query in the ways in turn. It returns the medians, the number of rows,
// and whether the rows were always the same.
func compareOne(ctx context.Context, s *harness.Session, ways []way, sql string) (row string, same bool, err error) {
	same = true
	var want *harness.Result
	times := make([][]float64, len(ways))
	for i := range runs + 1 {
		for k, w := range ways {
			if err := s.Exec(ctx, w.set); err != nil {
				return "", false, err
			}
			begin := time.Now()
			got, err := s.Query(ctx, sql)
			if err != nil {
				return "", false, err
			}
			if want == nil {
				want = got
			}
			if i > 0 { // the first round warms the caches
				times[k] = append(times[k], measure.Ms(time.Since(begin)))
			}
			same = same && harness.SameRows(want, got) == ""
		}
	}
	for _, t := range times {
		row += fmt.Sprintf("%.1f\t", measure.Median(t))
	}
	return fmt.Sprintf("%s%d\t%v", row, len(want.Rows), same), same, nil
}
