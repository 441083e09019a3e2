package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// DuckDB is a database of DuckDB, used through the program of tests/duckdb.
type DuckDB struct {
	Root     string // the repository's
	Database string // file
}

// Times are the milliseconds of each run, by the number of the query.
type Times map[int][]float64

// Load creates the database from a schema and CSV files named after its tables.
func (d DuckDB) Load(ctx context.Context, schema, dir string) error {
	return d.run(ctx, strings.NewReader(schema), nil, "load", "-data", dir)
}

// Time returns the times of several runs of each query.
func (d DuckDB) Time(ctx context.Context, queries []Query, runs int) (Times, error) {
	return d.time(ctx, queries, "time", "-runs", fmt.Sprint(runs))
}

// TimePostgres is Time for the tables of a PostgreSQL server, which DuckDB reads by its
// extension postgres_scanner: the way of pg_duckdb, from outside of the server.
func (d DuckDB) TimePostgres(ctx context.Context, queries []Query, runs int, connection string) (Times, error) {
	return d.time(ctx, queries, "time-postgres", "-runs", fmt.Sprint(runs), "-postgres", connection)
}

func (d DuckDB) time(ctx context.Context, queries []Query, command string, args ...string) (Times, error) {
	in, err := json.Marshal(queries)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := d.run(ctx, bytes.NewReader(in), &out, command, args...); err != nil {
		return nil, err
	}
	var times Times
	return times, json.Unmarshal(out.Bytes(), &times)
}

// Version returns DuckDB's version.
func (d DuckDB) Version(ctx context.Context) (string, error) {
	var out bytes.Buffer
	err := d.run(ctx, nil, &out, "version")
	return strings.TrimPrefix(strings.TrimSpace(out.String()), "v"), err
}

// GenerateTPCDS creates the database with the data of TPC-DS, unless it exists.
func (d DuckDB) GenerateTPCDS(ctx context.Context, sf float64) error {
	if _, err := os.Stat(d.Database); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.Database), 0o755); err != nil {
		return err
	}
	return d.run(ctx, nil, nil, "dsdgen", "-sf", fmt.Sprint(sf))
}

// Export writes a CSV file for each table.
func (d DuckDB) Export(ctx context.Context, dir string) error {
	return d.run(ctx, nil, nil, "export", "-data", dir)
}

// TPCDSQueries returns the queries of TPC-DS.
func (d DuckDB) TPCDSQueries(ctx context.Context) ([]Query, error) {
	var out bytes.Buffer
	if err := d.run(ctx, nil, &out, "tpcds-queries"); err != nil {
		return nil, err
	}
	var queries []Query
	return queries, json.Unmarshal(out.Bytes(), &queries)
}

func (d DuckDB) run(ctx context.Context, in io.Reader, out io.Writer, command string, args ...string) error {
	program := filepath.Join(d.Root, "build", "duckdb", "duckdb-bench")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("DuckDB is not built; run make duckdb: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{command, "-db", d.Database}, args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("duckdb-bench %s: %w\n%s", command, err, stderr.String())
	}
	return nil
}
