package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// timeQueries reads queries from standard input and prints, for each number, the
// median of several runs in milliseconds, after one run that warms the caches.
func timeQueries(ctx context.Context, o options) error {
	var queries []query
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		return err
	}
	times := map[int]float64{}
	return with(o.database, func(db *sql.DB) error {
		for _, q := range queries {
			var runs []float64
			for run := range o.runs + 1 {
				begin := time.Now()
				if err := readAll(ctx, db, q.SQL); err != nil {
					return fmt.Errorf("query %d: %w", q.Number, err)
				}
				if run > 0 {
					runs = append(runs, float64(time.Since(begin).Microseconds())/1000)
				}
			}
			slices.Sort(runs)
			times[q.Number] = (runs[(len(runs)-1)/2] + runs[len(runs)/2]) / 2
		}
		return json.NewEncoder(os.Stdout).Encode(times)
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
