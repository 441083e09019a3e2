// Package tpch loads TPC-H data into a private cluster and runs its 22 queries
// with the specification's validation parameters.
package tpch

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
)

// Queries is the number of queries.
const Queries = 22

// Tables in the order in which they are loaded.
var Tables = []string{"region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"}

// Schema creates the tables.
//
//go:embed schema.sql
var Schema string

// Indexes creates the primary keys and the usual indexes.
//
//go:embed indexes.sql
var Indexes string

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

// Load creates the tables, fills them from the generator, and creates the usual
// primary keys and indexes. progress is called with each step.
func Load(ctx context.Context, env *harness.Env, s *harness.Session, sf float64, progress func(string)) error {
	dir, err := os.MkdirTemp(env.Work, "tpch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	progress("generating")
	if err := Generate(ctx, env, sf, dir); err != nil {
		return err
	}
	return suite.Load(ctx, s, suite.Data{Schema: Schema, Indexes: Indexes, Tables: Tables, Dir: dir}, progress)
}

// PrimaryKeys returns a statement for the primary key of each table.
func PrimaryKeys() (statements []string) {
	for line := range strings.Lines(Indexes) {
		if strings.HasPrefix(line, "alter table") {
			statements = append(statements, strings.TrimSuffix(strings.TrimSpace(line), ";"))
		}
	}
	return statements
}

// Generate writes a CSV file for each table.
func Generate(ctx context.Context, env *harness.Env, sf float64, dir string) error {
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
