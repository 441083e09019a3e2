package mirrorcheck

import (
	"context"
	"fmt"
	"time"

	"gpujoin/tests/harness"
)

// auditor stops all writers now and then, and compares whole tables by value.
type auditor struct {
	*client
	campaign *campaign
	every    time.Duration
}

func (a *auditor) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			// At the end, when writers have stopped or are about to.
			return a.compare()
		case <-time.After(a.every):
		}
		if err := a.compare(); err != nil {
			return err
		}
	}
}

// compare compares all tables of both foreign servers with the source's. Nothing is written
// meanwhile, and no fault goes on.
func (a *auditor) compare() error {
	w := a.world
	w.calm.Lock()
	defer w.calm.Unlock()
	w.gate.Lock()
	defer w.gate.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	source, err := w.Source.Connect(ctx)
	if err != nil {
		return fmt.Errorf("at a barrier: %w", err)
	}
	defer source.Close()
	if err := endPrepared(ctx, source, "%"); err != nil {
		return err
	}
	local, err := w.Local.Connect(ctx)
	if err != nil {
		return err
	}
	defer local.Close()
	before := w.disturbed.Load()
	for _, table := range append([]string{"loose"}, mirrored...) {
		// A fault may have added a column at the source, which the foreign tables do not have.
		columns, err := local.One(ctx, fmt.Sprintf("select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute "+
			"where attrelid = '%s.%s'::regclass and attnum > 0 and not attisdropped", servers[0], table))
		if err != nil {
			return fmt.Errorf("at a barrier: %w", err)
		}
		want, err := source.Query(ctx, fmt.Sprintf("select t::text from (select %s from %s) t", columns, table))
		if err != nil {
			return fmt.Errorf("at a barrier: %w", err)
		}
		for _, server := range servers {
			var wrong []string
			got, err := local.Query(ctx, fmt.Sprintf("select t::text from %s.%s t", server, table))
			if err != nil {
				a.campaign.failed(fmt.Errorf("at a barrier, %s.%s: %w", server, table, err), before)
				continue
			}
			if d := harness.SameRows(want, got); d != "" {
				wrong = append(wrong, d)
			}
			a.campaign.compared(server+"."+table, wrong)
		}
	}
	a.campaign.barrier()
	return nil
}

// endPrepared ends prepared transactions whose names match a pattern.
func endPrepared(ctx context.Context, s *harness.Session, pattern string) error {
	r, err := s.Query(ctx, "select gid from pg_prepared_xacts where gid like '"+pattern+"'")
	if err != nil {
		return err
	}
	for i, name := range r.Rows {
		end := "commit"
		if i%2 == 1 {
			end = "rollback"
		}
		if err := s.Exec(ctx, end+" prepared '"+name+"'"); err != nil {
			return err
		}
	}
	return nil
}
