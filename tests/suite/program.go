package suite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Program is the part of a command that measures a suite.
type Program struct {
	Queries []Query
	DuckDB  Times
	Options Options
	Load    func(*harness.Session) error // the data
	// Loaded measures what else uses the loaded data, if it is not nil.
	Loaded func(*harness.Cluster) (Times, error)
	Run    *measure.Run
}

// Progress prints a step of the preparation.
func Progress(what string) { fmt.Println("  " + what) }

// Run measures the queries in a private server, prints each as it finishes, and
// then the table. It returns an error if rows differed.
func Run(ctx context.Context, env *harness.Env, p Program) (err error) {
	settings := Settings()
	if p.Options.Kept {
		settings = KeptSettings()
	}
	withWorkers(settings, p.Options.Workers)
	pair, s, err := Start(ctx, env, settings, p.Load)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), pair.Stop()) }()
	p.Run.Server(env.Prefix.Version, settings)

	var scanned Times
	if p.Loaded != nil {
		if scanned, err = p.Loaded(pair.Cluster); err != nil {
			return err
		}
	}
	var measured []*Measurement
	var results []measure.Result
	for _, q := range p.Queries {
		m, err := Measure(ctx, s, q, p.Options)
		if err != nil {
			return fmt.Errorf("query %d: %w", q.Number, err)
		}
		for engine, times := range map[string]Times{measure.DuckDB: p.DuckDB, measure.PgScanner: scanned} {
			if len(times[q.Number]) > 0 {
				m.Times[engine] = times[q.Number]
			}
		}
		fmt.Println("  " + m.Line())
		measured, results = append(measured, m), append(results, m.Results()...)
		if err := p.Run.Save(results); err != nil {
			return err
		}
	}
	if err := p.Run.Finish(results); err != nil {
		return err
	}
	fmt.Println(p.Run)
	fmt.Println(DescribeSettings(settings))
	return Report(os.Stdout, measured)
}
