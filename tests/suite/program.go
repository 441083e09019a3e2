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
	JSON    string                       // the file to write
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
	pair, s, err := Start(ctx, env, settings, p.Load)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), pair.Stop()) }()

	var measured []*Measurement
	for _, q := range p.Queries {
		m, err := Measure(ctx, s, q, p.Options)
		if err != nil {
			return fmt.Errorf("query %d: %w", q.Number, err)
		}
		m.DuckDBMs = p.DuckDB[q.Number]
		fmt.Println("  " + m.Line())
		measured = append(measured, m)
		// After each query, so that an interrupted run leaves what it has.
		if err := measure.WriteJSON(p.JSON, measured); err != nil {
			return err
		}
	}
	fmt.Println(measure.Circumstances(env.Root))
	fmt.Println(DescribeSettings(settings))
	return Report(os.Stdout, measured)
}
