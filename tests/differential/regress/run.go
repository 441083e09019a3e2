// Package regress runs PostgreSQL's own regression and isolation suites twice in private
// servers, without the extension and with everything offloaded that can be, and compares
// the results of all queries: make regress-forced.
package regress

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// report is build/regress-forced.json.
type report struct {
	OffloadedJoins int64             `json:"offloaded_joins"` // executed by the daemon
	Blocks         int64             `json:"blocks"`          // query blocks, the same
	Unexplained    int               `json:"unexplained"`     // tests whose results differ
	Passed         int               `json:"passed"`
	Tolerated      map[string]string `json:"tolerated"` // tests that differ for a known reason
	Server         string            `json:"server"`
}

// Run runs the suites and writes build/regress-forced.json. A test whose results differ
// without a known reason is an error.
func Run(_ context.Context, flags *flag.FlagSet, args []string) error {
	source := flags.String("source", "", "PostgreSQL's source tree")
	only := flags.String("only", "", "run one suite: regress or isolation")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := run(*source, *only)
	if err != nil {
		return err
	}
	fmt.Printf("%d joins and %d query blocks were offloaded\n", r.OffloadedJoins, r.Blocks)
	fmt.Printf("%d passed, %d failed\n", r.Passed, r.Unexplained)
	if r.Unexplained > 0 {
		return fmt.Errorf("the results of %d tests differ", r.Unexplained)
	}
	return nil
}

func run(source, only string) (*report, error) {
	env, err := harness.Prepare()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(env.Work, "core")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// The server's user must be able to read it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	r := &report{Tolerated: map[string]string{}, Server: env.Prefix.Version}
	for _, s := range suites(env) {
		if only != "" && s.name != only {
			continue
		}
		s.dir = filepath.Join(dir, s.name)
		if err := s.prepare(filepath.Join(source, "src", "test", s.name)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("running the suite %s\n", s.name)
		done, err := s.runModes(env)
		if err != nil {
			return nil, fmt.Errorf("%s, %w", s.name, err)
		}
		r.OffloadedJoins += done.Joins
		r.Blocks += done.Blocks
		if err := compare(s, r); err != nil {
			return nil, err
		}
	}
	if only == "" && (r.OffloadedJoins == 0 || r.Blocks == 0) {
		return nil, fmt.Errorf("%d joins and %d blocks were offloaded", r.OffloadedJoins, r.Blocks)
	}
	return r, measure.WriteJSON(filepath.Join(env.Root, "build", "regress-forced.json"), r)
}
