// Package tpch loads TPC-H data into a private cluster and runs its 22 queries
// with the specification's validation parameters.
package tpch

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gpujoin/tests/harness"
)

// Tables in the order in which they are loaded.
var Tables = []string{"region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"}

//go:embed schema.sql
var schema string

//go:embed indexes.sql
var indexes string

//go:embed queries/*.sql
var queries embed.FS

// Query returns the text of query n, 1 to 22. Query 11 depends on the scale factor.
func Query(n int, sf float64) (string, error) {
	text, err := queries.ReadFile(fmt.Sprintf("queries/%02d.sql", n))
	if err != nil {
		return "", fmt.Errorf("TPC-H has no query %d", n)
	}
	fraction := strconv.FormatFloat(0.0001/sf, 'f', 10, 64)
	return strings.TrimSpace(strings.ReplaceAll(string(text), ":fraction", fraction)), nil
}

// Numbers parses a list of query numbers; an empty list means all 22.
func Numbers(chosen string) ([]int, error) {
	var numbers []int
	for _, field := range strings.FieldsFunc(chosen, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > 22 {
			return nil, fmt.Errorf("%q is not the number of a query, 1 to 22", field)
		}
		numbers = append(numbers, n)
	}
	if numbers == nil {
		for n := range 22 {
			numbers = append(numbers, n+1)
		}
	}
	return numbers, nil
}

// Start starts a private server with the extension, its daemon and a session,
// and loads the data. The caller stops and closes them. progress is called with
// each step.
func Start(ctx context.Context, env *harness.Env, sf float64, progress func(string)) (*harness.Pair, *harness.Session, error) {
	pair, err := env.StartPair(Settings(), nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := pair.Cluster.Connect(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, pair.Stop())
	}
	if err = Load(ctx, env, s, sf, progress); err == nil {
		err = s.Exec(ctx, "create extension gpujoin")
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close(), pair.Stop())
	}
	return pair, s, nil
}

// Load creates the tables, fills them from the generator, and creates the usual
// primary keys and indexes. progress is called with each step.
func Load(ctx context.Context, env *harness.Env, s *harness.Session, sf float64, progress func(string)) error {
	if err := s.Exec(ctx, schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	dir, err := os.MkdirTemp(env.Work, "tpch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	progress("generating")
	if err := generate(ctx, env, sf, dir); err != nil {
		return err
	}
	for _, table := range Tables {
		progress("loading " + table)
		if err := loadTable(ctx, s, table, filepath.Join(dir, table+".csv")); err != nil {
			return fmt.Errorf("loading %s: %w", table, err)
		}
	}
	progress("building indexes")
	if err := s.Exec(ctx, "set maintenance_work_mem = '512MB'; "+indexes); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	progress("vacuuming")
	if err := s.Exec(ctx, "vacuum (freeze, analyze)"); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return s.Exec(ctx, "checkpoint")
}

func generate(ctx context.Context, env *harness.Env, sf float64, dir string) error {
	if _, err := os.Stat(env.Generator); err != nil {
		return fmt.Errorf("the generator is missing; run make setup: %w", err)
	}
	out, err := exec.CommandContext(ctx, env.Generator, "csv", "--quiet",
		"--scale-factor", strconv.FormatFloat(sf, 'f', -1, 64), "--output-dir", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tpchgen-cli: %w: %s", err, out)
	}
	return nil
}

// loadTable loads a file and removes it. TRUNCATE and COPY are in one
// transaction, so that rows can be written frozen.
func loadTable(ctx context.Context, s *harness.Session, table, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.Exec(ctx, "begin; truncate "+table); err != nil {
		return err
	}
	if _, err := s.Conn().CopyFrom(ctx, bufio.NewReaderSize(f, 1<<20),
		"copy "+table+" from stdin (format csv, header, freeze)"); err != nil {
		return err
	}
	if err := s.Exec(ctx, "commit"); err != nil {
		return err
	}
	return os.Remove(path)
}
