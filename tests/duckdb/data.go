package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	_ "github.com/duckdb/duckdb-go/v2" // the driver
)

// open opens a database file, or one in memory if path is empty.
func open(path string) (*sql.DB, error) {
	return sql.Open("duckdb", path+"?allow_unsigned_extensions=true")
}

// with opens a database, calls f, and closes it.
func with(path string, f func(*sql.DB) error) error {
	db, err := open(path)
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

// generate creates a database with the data of TPC-DS. A file that exists is complete.
func generate(ctx context.Context, o options) error {
	unfinished := o.database + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	err := with(unfinished, func(db *sql.DB) error {
		if err := loadTPCDS(ctx, db); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, fmt.Sprintf("call dsdgen(sf = %g)", o.sf))
		return err
	})
	if err != nil {
		return err
	}
	return os.Rename(unfinished, o.database)
}

// query is a query as the caller exchanges it in JSON.
type query struct {
	Number int    `json:"number"`
	SQL    string `json:"sql"`
}

// printQueries prints the queries of TPC-DS as JSON.
func printQueries(ctx context.Context, _ options) error {
	return with("", func(db *sql.DB) error {
		if err := loadTPCDS(ctx, db); err != nil {
			return err
		}
		rows, err := db.QueryContext(ctx, "select query_nr, query from tpcds_queries() order by query_nr")
		if err != nil {
			return err
		}
		defer rows.Close()
		var queries []query
		for rows.Next() {
			var q query
			if err := rows.Scan(&q.Number, &q.SQL); err != nil {
				return err
			}
			queries = append(queries, q)
		}
		return errors.Join(rows.Err(), json.NewEncoder(os.Stdout).Encode(queries))
	})
}

// tables returns the names of the database's tables.
func tables(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, "select table_name from information_schema.tables where table_schema = 'main' order by 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// forTables executes a statement for each table, with its name and its file.
func forTables(ctx context.Context, db *sql.DB, dir, statement string) error {
	names, err := tables(ctx, db)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(statement, name, filepath.Join(dir, name+".csv"))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// export writes the tables' files.
func export(ctx context.Context, o options) error {
	return with(o.database, func(db *sql.DB) error {
		return forTables(ctx, db, o.data, "copy %s to '%s' (format csv, header)")
	})
}

// load executes the schema that it reads from standard input, and fills the tables.
func load(ctx context.Context, o options) error {
	schema, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return with(o.database, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, string(schema)); err != nil {
			return err
		}
		return forTables(ctx, db, o.data, "copy %s from '%s' (format csv, header)")
	})
}
