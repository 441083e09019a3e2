// Package tpcds loads TPC-DS data, from DuckDB's build of the specification's
// generator, into a private cluster and runs its 99 queries.
package tpcds

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gpujoin/tests/harness"
	"gpujoin/tests/suite"
)

// Queries is the number of queries.
const Queries = 99

// Tables in the order in which they are loaded.
var tables = []string{
	"call_center", "catalog_page", "customer", "customer_address", "customer_demographics", "date_dim",
	"household_demographics", "income_band", "item", "promotion", "reason", "ship_mode", "store", "time_dim",
	"warehouse", "web_page", "web_site",
	"inventory", "store_returns", "catalog_returns", "web_returns", "web_sales", "catalog_sales", "store_sales",
}

//go:embed schema.sql
var schema string

//go:embed indexes.sql
var indexes string

// Database returns the database that generates the data. It is kept, because
// generating takes long.
func Database(env *harness.Env, sf float64) suite.DuckDB {
	return suite.DuckDB{
		Root:     env.Root,
		Database: filepath.Join(env.Root, "build", "duckdb", fmt.Sprintf("tpcds-sf%g.duckdb", sf)),
	}
}

// Load creates the tables, fills them from the database, and creates the primary
// keys and indexes.
func Load(ctx context.Context, env *harness.Env, d suite.DuckDB, s *harness.Session) (err error) {
	dir, err := os.MkdirTemp(env.Work, "tpcds")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	suite.Progress("exporting")
	if err := d.Export(ctx, dir); err != nil {
		return err
	}
	return suite.Load(ctx, s, suite.Data{Schema: schema, Indexes: indexes, Tables: tables, Dir: dir}, suite.Progress)
}
