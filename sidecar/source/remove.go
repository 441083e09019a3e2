package source

import (
	"context"
	"errors"
	"time"
)

// Removed says what Remove leaves at the source.
type Removed struct {
	Kept bool // the publication, which the session has made: others may use it
}

// removePause is the time between two looks at a slot that a connection still uses, and
// removeTries how many there are: a sender takes a moment to end.
const (
	removePause = 100 * time.Millisecond
	removeTries = 100
)

// Remove drops what a session with these options has left at the source, after it was closed: its
// permanent slot, and its publication if a session with this Maker has made it. A publication
// remains while another slot may need it.
func Remove(ctx context.Context, o Options) (r Removed, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	o = o.withDefaults()
	s, err := newServer(o)
	if err != nil {
		return r, err
	}
	defer s.close()
	if o.Slot != "" {
		if err := s.removeSlot(ctx, o.Slot); err != nil {
			return r, err
		}
	}
	if o.Maker == "" {
		return r, nil
	}
	var made bool
	err = s.pool.QueryRow(ctx, `select exists (select from pg_catalog.pg_publication p
		where p.pubname = $1 and pg_catalog.obj_description(p.oid, 'pg_publication') = $2)`, o.Publication, o.Maker).Scan(&made)
	if err != nil || !made {
		return r, translate("looking for the publication", err)
	}
	used, err := s.othersRead(ctx)
	if err != nil || used {
		r.Kept = used
		return r, err
	}
	_, err = s.pool.Exec(ctx, "DROP PUBLICATION IF EXISTS "+quoteIdentifier(o.Publication))
	return r, translate("dropping the publication", err)
}

// removeSlot drops a slot of a session, as soon as nobody uses it. One that is not of a session
// is left as it is.
func (s *server) removeSlot(ctx context.Context, name string) error {
	for tries := 1; ; tries++ {
		_, found, err := s.existing(ctx, name)
		switch {
		case errors.Is(err, errSlotForeign):
			return nil
		case err == nil && !found:
			return nil
		case err == nil:
			err = s.dropSlot(ctx, name)
		}
		if err == nil || !errors.Is(err, errSlotInUse) || tries == removeTries {
			return err
		}
		sleep(ctx, removePause)
	}
}

// othersRead reports whether slots are left that may read a publication of the database. Temporary
// ones of a session that was closed end in a moment.
func (s *server) othersRead(ctx context.Context) (used bool, err error) {
	for range removeTries {
		err = s.pool.QueryRow(ctx, "select exists (select from pg_catalog.pg_replication_slots where plugin = $1 and database = pg_catalog.current_database())", plugin).Scan(&used)
		if err != nil || !used || ctx.Err() != nil {
			break
		}
		sleep(ctx, removePause)
	}
	return used, translate("reading the slots", err)
}
