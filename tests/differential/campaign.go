package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Report sums up a campaign. It is the content of build/differential.json.
type Report struct {
	Seed        uint64         `json:"seed"` // the first one; each round has the next
	Rounds      int            `json:"rounds"`
	Seconds     float64        `json:"seconds"`
	Queries     int            `json:"queries"`     // that were compared
	Offloaded   int            `json:"offloaded"`   // that the daemon executed, in part or whole
	Filtered    int            `json:"filtered"`    // in which a filter of keys dropped rows
	Kept        int            `json:"kept"`        // in which the daemon had blocks of a table from an earlier query
	Errors      int            `json:"errors"`      // that raised the same error in both plans
	Empty       int            `json:"empty"`       // that returned no row
	Skipped     int            `json:"skipped"`     // that ran into statement_timeout
	Rows        int            `json:"rows"`        // that were compared
	Differences int            `json:"differences"` // queries with other rows or errors, or after which a process ended
	Fallbacks   map[string]int `json:"fallbacks"`   // by reason, the nodes that ran natively
	Cases       []Case         `json:"cases"`       // the differences
}

// Case is a difference.
type Case struct {
	Seed       uint64 `json:"seed"`
	Query      int    `json:"query"` // its number among the seed's
	Difference string `json:"difference"`
	Settings   string `json:"settings"`
	SQL        string `json:"sql"`
	Script     string `json:"script"` // minimised
}

// Campaign compares random queries.
type Campaign struct {
	World    *World
	Queries  int           // of each round
	Minimise time.Duration // how long to minimise a difference
	List     bool          // the queries that stay native
	Say      func(format string, args ...any)
	Report   Report
}

// Round compares the queries of a seed. ctx may end it between two queries. The queries of
// every third seed run over kept columns, and now and then rows change between two of them.
func (c *Campaign) Round(ctx context.Context, seed uint64, until func() bool) error {
	g := New(seed)
	if err := c.World.Fill(ctx, g); err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	if err := c.World.keep(ctx, seed%3 == 0); err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	changes := rand.New(rand.NewPCG(seed, 1)) // the queries of a seed do not depend on them
	c.Report.Rounds++
	for i := 0; i < c.Queries && !until(); i++ {
		query, settings := g.Query(), g.Settings()
		if c.World.kept && changes.IntN(8) == 0 {
			if err := c.World.change(ctx, changes, g.Tables[changes.IntN(len(g.Tables))]); err != nil {
				return fmt.Errorf("seed %d, before query %d: %w", seed, i, err)
			}
		}
		if err := c.one(ctx, seed, i, g, query, settings); err != nil {
			return fmt.Errorf("seed %d, query %d: %s: %w", seed, i, query, err)
		}
	}
	return nil
}

func (c *Campaign) one(ctx context.Context, seed uint64, i int, g *Generator, query *Node, settings []string) error {
	sql := query.String()
	r, err := c.World.Compare(ctx, settings, sql)
	if err != nil {
		return err
	}
	c.count(r)
	if c.List && !r.Offloaded() {
		c.Say("native: seed %d, query %d, %d nodes, %q: %s; %s", seed, i, r.Nodes, r.Fallbacks, strings.Join(settings, "; "), sql)
	}
	if r.Invalid != nil {
		return r.Invalid
	}
	if r.Difference == "" {
		return nil
	}
	found := Case{Seed: seed, Query: i, Difference: r.Difference, Settings: strings.Join(settings, "; "), SQL: sql}
	c.Say("difference %d: seed %d, query %d: %s", c.Report.Differences, seed, i, r.Difference)
	if c.Minimise > 0 {
		found.Script, err = c.World.minimise(ctx, g, query, settings, c.Minimise)
		err = firstError(err, c.World.s.Exec(ctx, "drop schema if exists small cascade"))
		c.Say("%s", found.Script)
	}
	c.Report.Cases = append(c.Report.Cases, found)
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Campaign) count(r Comparison) {
	if r.Skipped {
		c.Report.Skipped++
		return
	}
	c.Report.Queries++
	c.Report.Rows += r.Rows
	if r.Rows == 0 && !r.Failed {
		c.Report.Empty++
	}
	if r.Offloaded() {
		c.Report.Offloaded++
	}
	if r.Dropped > 0 {
		c.Report.Filtered++
	}
	if r.Kept > 0 {
		c.Report.Kept++
	}
	if r.Failed {
		c.Report.Errors++
	}
	if r.Difference != "" {
		c.Report.Differences++
	}
	for _, reason := range r.Fallbacks {
		if c.Report.Fallbacks == nil {
			c.Report.Fallbacks = map[string]int{}
		}
		c.Report.Fallbacks[reason]++
	}
}
