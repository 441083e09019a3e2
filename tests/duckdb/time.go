package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// timeQueries reads queries from standard input and prints, for each number, the times of
// several runs in milliseconds, after one run that warms the caches.
func timeQueries(ctx context.Context, o options) error {
	return with(o.database, func(db *sql.DB) error { return timeAll(ctx, db, o.runs) })
}

// timePostgres does so for the tables of a PostgreSQL server, which DuckDB reads with its
// extension in each run.
func timePostgres(ctx context.Context, o options) error {
	return with("", func(db *sql.DB) error {
		// Settings are those of a connection.
		db.SetMaxOpenConns(1)
		if err := loadScanner(ctx, db); err != nil {
			return err
		}
		quoted := strings.ReplaceAll(o.postgres, "'", "''")
		if _, err := db.ExecContext(ctx, fmt.Sprintf("attach '%s' as heap (type postgres, read_only); use heap.public", quoted)); err != nil {
			return err
		}
		return timeAll(ctx, db, o.runs)
	})
}

func timeAll(ctx context.Context, db *sql.DB, runs int) error {
	var queries []query
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		return err
	}
	times := map[int][]float64{}
	for _, q := range queries {
		for run := range runs + 1 {
			begin := time.Now()
			if err := readAll(ctx, db, q.SQL); err != nil {
				return fmt.Errorf("query %d: %w", q.Number, err)
			}
			if run > 0 {
				times[q.Number] = append(times[q.Number], float64(time.Since(begin).Microseconds())/1000)
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}

// printVersion prints DuckDB's version.
func printVersion(ctx context.Context, _ options) error {
	return with("", func(db *sql.DB) error {
		var version string
		if err := db.QueryRowContext(ctx, "select library_version from pragma_version()").Scan(&version); err != nil {
			return err
		}
		_, err := fmt.Println(version)
		return err
	})
}

// readAll executes a query and reads all of its values.
func readAll(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
