package foreign

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gpujoin/sidecar/source"
)

// session returns the options of the session of a server and a mapping.
func (o *sourceOptions) session(k key) source.Options {
	return source.Options{
		Keywords: o.Keywords, Publication: o.Publication, Slot: o.Slot, MaxRetainedWAL: o.Retained,
		Maker: fmt.Sprintf("made by gpujoin for user mapping %d of foreign server %d in database %d of system %d", k.mapping, k.server, k.database, k.cluster),
	}
}

// end ends what was dropped: the mirrors of tables, or the sessions of a server, of one mapping or
// of all, or those of a database. What these have left at the source is removed, too.
func (s *Sources) end(from Peer, r *request) {
	database := from.Database
	if r.Database != 0 {
		database = r.Database
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := false
	for k, e := range s.sessions {
		if k.cluster != from.Cluster || k.database != database || r.Server != 0 && k.server != r.Server || r.Mapping != 0 && k.mapping != r.Mapping {
			continue
		}
		if len(r.Tables) > 0 {
			e.session.Forget(r.names()...)
			continue
		}
		ended = true
		options := e.options
		e.remains = &options
		s.retire(e)
	}
	// A daemon before this one may have had a session.
	if r.Source != nil && !ended && !s.closed {
		k := key{from.Cluster, database, r.Source.Server, r.Source.Mapping}
		options := r.Source.session(k)
		s.ending.Go(func() { s.removeAt(k, options) })
	}
}

// leftBy returns what a session with old options has left at the source that the one with new
// options, which replaces it, does not use; nil: nothing.
func leftBy(old, new source.Options) *source.Options {
	switch {
	case !sameSource(old, new):
		return &old
	case old.Slot != new.Slot && old.Slot != "":
		old.Maker = "" // the publication may be the new one's
		return &old
	}
	return nil
}

// sameSource reports whether options lead to the same database.
func sameSource(a, b source.Options) bool {
	for _, key := range []string{"host", "port", "dbname"} {
		if a.Keywords[key] != b.Keywords[key] {
			return false
		}
	}
	return true
}

// removeTime is how long a source that cannot be reached is tried, with pauses up to mostRemovePause.
const (
	removeTime       = 10 * time.Minute
	firstRemovePause = 200 * time.Millisecond
	mostRemovePause  = 15 * time.Second
)

// removeAt removes what a session has left at its source. The log says what remains if that fails.
func (s *Sources) removeAt(k key, o source.Options) {
	ctx, cancel := context.WithTimeout(s.ctx, removeTime)
	defer cancel()
	log := s.options.Log.With("server", k.server, "mapping", k.mapping, "database", k.database)
	for pause := firstRemovePause; ; pause = min(2*pause, mostRemovePause) {
		if s.slotUsed(o) {
			o.Slot = "" // another session has taken it
		}
		removed, err := s.remove(ctx, o)
		switch {
		case err == nil && removed.Kept:
			log.Info("the publication remains at the source, because other slots are there", "remove by", dropPublication(o))
			return
		case err == nil:
			return
		case !source.Passing(err) || ctx.Err() != nil:
			log.Warn("a foreign server is gone, and what was made at the source may remain there", "error", err, "remove by", leftovers(o))
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// slotUsed reports whether a session uses the slot.
func (s *Sources) slotUsed(o source.Options) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.sessions {
		if o.Slot != "" && e.options.Slot == o.Slot && sameSource(e.options, o) {
			return true
		}
	}
	return false
}

func dropPublication(o source.Options) string {
	name := o.Publication
	if name == "" {
		name = "gpujoin"
	}
	return `DROP PUBLICATION IF EXISTS "` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// leftovers are the statements that remove at the source what may remain there.
func leftovers(o source.Options) string {
	var sql []string
	if o.Slot != "" {
		sql = append(sql, "SELECT pg_drop_replication_slot('"+o.Slot+"')")
	}
	if o.Maker != "" {
		sql = append(sql, dropPublication(o))
	}
	return strings.Join(sql, "; ")
}
