// Command duckdb-bench is DuckDB for the benchmarks: it generates TPC-DS data,
// loads data, and times queries. It is a module of its own, so that no other
// needs DuckDB.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

const usage = "usage: duckdb-bench version|dsdgen|tpcds-queries|export|load|time|time-postgres [flags]"

// options are the flags of all commands.
type options struct {
	database string
	data     string  // directory of CSV files
	sf       float64 // scale factor
	runs     int
	postgres string // how to connect to the server
}

var commands = map[string]func(context.Context, options) error{
	"dsdgen":        generate,
	"tpcds-queries": printQueries,
	"export":        export,
	"load":          load,
	"time":          timeQueries,
	"time-postgres": timePostgres,
	"version":       printVersion,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "duckdb-bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("%s", usage)
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.database, "db", "", "file of the database")
	flags.StringVar(&o.data, "data", "", "export, load: directory of CSV files with header lines, named after their tables")
	flags.Float64Var(&o.sf, "sf", 1, "dsdgen: scale factor")
	flags.IntVar(&o.runs, "runs", 1, "time, time-postgres: measured runs of each query")
	flags.StringVar(&o.postgres, "postgres", "", "time-postgres: how to connect to the server, as libpq reads it")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	return commands[args[0]](context.Background(), o)
}
