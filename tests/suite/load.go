package suite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gpujoin/tests/harness"
)

// Data is what Load loads: a schema, for each table a CSV file with a header
// line, named after the table, and then keys and indexes.
type Data struct {
	Schema, Indexes string // SQL
	Tables          []string
	Dir             string // has the files, which Load removes
}

// Load creates the tables, fills them, and creates the indexes. progress is
// called with each step.
func Load(ctx context.Context, s *harness.Session, d Data, progress func(string)) error {
	if err := s.Exec(ctx, d.Schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	for _, table := range d.Tables {
		progress("loading " + table)
		if err := loadTable(ctx, s, table, filepath.Join(d.Dir, table+".csv")); err != nil {
			return fmt.Errorf("loading %s: %w", table, err)
		}
	}
	progress("building indexes")
	if err := s.Exec(ctx, "set maintenance_work_mem = '512MB'; "+d.Indexes); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	progress("vacuuming")
	if err := s.Exec(ctx, "vacuum (freeze, analyze)"); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return s.Exec(ctx, "checkpoint")
}

// Warm reads all tables and indexes into shared buffers. A scan of a table that
// is larger than a quarter of them would never keep its pages there.
func Warm(ctx context.Context, s *harness.Session) error {
	err := s.Exec(ctx, "create extension pg_prewarm; "+
		"select pg_prewarm(oid) from pg_class where relkind in ('r', 'i') "+
		"and relnamespace = 'public'::regnamespace; drop extension pg_prewarm")
	if err != nil {
		return fmt.Errorf("pg_prewarm: %w", err)
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
