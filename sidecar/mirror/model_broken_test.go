package mirror

import (
	"testing"

	"gpujoin/sidecar/mirror/encode"
)

// broken says which rule of the mirror the model breaks, by doing at the right moment to the
// mirror's state what the mirror must not do.
type broken struct {
	early        bool // publish before the commit
	settle       bool // deletions that a pin does not see become bits
	runs         bool // forget how many rows a segment had for older pins
	retire       bool // drop truncated segments that a pin sees
	rollback     bool // keep what a transaction that was cut off has done
	repeat       bool // apply a transaction again
	joined       bool // apply changes that a table had when it joined
	late         bool // have a table join behind the main stream
	carry        bool // forget deletions while segments are rewritten
	swapInside   bool // swap while a transaction has changed the table
	planAny      bool // rewrite segments of which a pin sees other rows
	unref        bool // give memory back that a reader has
	from         bool // let older pins see a table that joins
	inside       bool // take a keepalive within a transaction for a position
	unchanged    bool // take values that were not sent for NULL
	border       bool // do not publish the last byte of a bitmap
	deathsAnyPin bool // show a deletion to all pins
}

func (b *broken) begun(s *Server) {
	if b.repeat {
		s.skip = false
	}
	if b.joined {
		s.final = noFinal
	}
}

func (b *broken) change(c *Change) {
	if b.unchanged && c.Op == Update && c.New.Fields[1].State == encode.Unchanged {
		c.New.Fields[1].State = encode.Null
	}
}

func (b *broken) keepalive(s *Server, walEnd LSN) {
	if b.inside && s.open {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.advance(walEnd)
	}
}

func (b *broken) changed(s *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.early {
		for _, t := range s.changed {
			if t.rows != nil {
				t.rows.publish(s.commit, s.horizon())
			}
		}
	}
}

func (b *broken) committed(s *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if t.state != StateReady {
			continue
		}
		if b.retire && t.rows.published.ended > 0 {
			t.rows.retire(alive - 1)
		}
		for _, seg := range t.rows.published.segments {
			if b.settle {
				t.rows.besides(seg.settle(alive, 1))
			}
			if b.runs {
				seg.runs = seg.runs[len(seg.runs)-1:]
				seg.runs[0].commit = 0
			}
			for i := range seg.deaths {
				if b.deathsAnyPin {
					seg.deaths[i].commit = 0
				}
			}
			for i := range seg.border {
				if b.border {
					seg.border[i].last = 0xff
				}
			}
		}
	}
}

func (b *broken) abort(s *Server) {
	if b.rollback {
		for _, t := range s.changed {
			if t.rows != nil {
				t.rows.closeUndo()
			}
		}
	}
	s.Abort()
}

func (b *broken) join(s *Server, l *Loading, at LSN) error {
	if !b.late {
		err := l.Join(at)
		if err == nil && b.from && l.t.state == StateReady {
			l.t.from = 0
		}
		return err
	}
	position, open := s.position, s.open
	s.position, s.open = min(position, at), false
	defer func() { s.position, s.open = position, open }()
	return l.Join(at)
}

func (b *broken) taken(p *Pin) {
	if b.unref {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		for _, h := range p.held {
			h.rows.unref(h.storage)
		}
		p.held = nil
	}
}

func (b *broken) plan(s *Server) *rewriting {
	if !b.planAny {
		return s.plan()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if t.state == StateReady && s.rewritten == nil {
			if w, _ := t.rows.planRewriting(alive - 1); w != nil {
				w.table = t
				return w
			}
		}
	}
	return nil
}

func (b *broken) finish(s *Server, w *rewriting) {
	if b.carry {
		for i := range w.sources {
			w.sources[i].segment.deaths = nil
		}
	}
	if b.swapInside {
		s.rewritten = w
		s.swap()
		return
	}
	s.finish(w)
}

// Each case says at which seed the search begins, so that it is short; it goes on from there
// when a change of the model or the mirror makes seeds mean something else.
func TestModelFindsEachBrokenRule(t *testing.T) {
	for _, c := range []struct {
		rule string
		broken
		seed uint64
	}{
		{"a transaction is published when it is committed", broken{early: true}, 0},
		{"deletions are settled when every pin sees them", broken{settle: true}, 0},
		{"a segment knows what older pins see", broken{runs: true}, 0},
		{"truncated rows stay for older pins", broken{retire: true}, 0},
		{"a transaction that is cut off is rolled back", broken{rollback: true}, 0},
		{"a repeated transaction is skipped", broken{repeat: true}, 0},
		{"a table that joins does not get what it has", broken{joined: true}, 0},
		{"a table does not join behind the stream", broken{late: true}, 0},
		{"rewriting carries deletions over", broken{carry: true}, 0},
		{"segments are swapped between transactions", broken{swapInside: true}, 0},
		{"only segments are rewritten of which pins see the same rows", broken{planAny: true}, 0},
		{"readers keep their memory", broken{unref: true}, 0},
		{"a table is seen from the position on at which it joined", broken{from: true}, 0},
		{"a keepalive within a transaction is no position", broken{inside: true}, 0},
		{"unchanged values are those of the old version", broken{unchanged: true}, 0},
		{"the last byte of a bitmap is published", broken{border: true}, 0},
		{"a pin does not see later deletions", broken{deathsAnyPin: true}, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var counts modelCounts
			if err := runModel(c.seed, broken{}, &counts); err != nil {
				t.Fatalf("with the rule: %v", err)
			}
			for seed := range seeds(t, 2000) {
				if err := runModel(c.seed+seed, c.broken, &counts); err != nil {
					t.Logf("found: %.200s", err)
					return
				}
			}
			t.Error("the model finds nothing wrong without this rule")
		})
	}
}
