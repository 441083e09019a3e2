package sqllogic

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gpujoin/tests/harness"
	"gpujoin/tests/measure"
)

// Run compares the queries of files of the sqllogictest format and writes
// build/sqllogic.json.
func Run(ctx context.Context, flags *flag.FlagSet, args []string) (err error) {
	dir := flags.String("dir", "", "directory with files *.test and *.test_slow")
	if err := flags.Parse(args); err != nil {
		return err
	}
	paths, err := files(*dir)
	if err != nil {
		return err
	}
	env, err := harness.Prepare()
	if err != nil {
		return err
	}
	r, err := Start(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	begin, shown := time.Now(), 0
	for i, path := range paths {
		name, err := filepath.Rel(*dir, path)
		if err != nil {
			return err
		}
		if err := r.File(ctx, path, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for ; shown < len(r.Report.Cases); shown++ {
			c := r.Report.Cases[shown]
			fmt.Printf("%s:%d: %s\n%s\n", c.File, c.Line, c.Difference, c.SQL)
		}
		if i%50 == 49 {
			fmt.Printf("  %5.0f s: %d of %d files, %d queries compared\n", time.Since(begin).Seconds(), i+1, len(paths), r.Report.Compared)
		}
	}
	report := r.Report
	table(report)
	if err := measure.WriteJSON(filepath.Join(env.Root, "build", "sqllogic.json"), report); err != nil {
		return err
	}
	switch {
	case report.Differences > 0 || report.Crashes > 0:
		return fmt.Errorf("%d differences, %d crashes", report.Differences, report.Crashes)
	case report.Offloaded == 0:
		return errors.New("no query was offloaded")
	}
	return nil
}

// files lists the test files below a directory in lexical order.
func files(dir string) ([]string, error) {
	if dir == "" {
		return nil, errors.New("no directory with test files; set DIR")
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".test") || strings.HasSuffix(path, ".test_slow")) {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s has no files *.test or *.test_slow", dir)
	}
	return paths, err
}

func table(r Report) {
	for _, row := range []struct {
		name  string
		count int
	}{
		{"files", r.Files},
		{"malformed files", r.Malformed},
		{"statements", r.Statements},
		{"rejected by PostgreSQL", r.Rejected},
		{"queries compared", r.Compared},
		{"offloaded", r.Offloaded},
		{"order or chance", r.Unstable},
		{"timeouts", r.Skipped},
		{"differences", r.Differences},
		{"crashes", r.Crashes},
	} {
		fmt.Printf("%-23s %7d\n", row.name, row.count)
	}
}
