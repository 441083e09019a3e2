package kept

import (
	"cmp"
	"slices"
)

// Progress is how far a lease has come that captures, or whose captured blocks are copied.
type Progress struct {
	Table   Table
	Name    string
	Job     uint64 // of the request
	PID     int32  // of the request
	Copying bool   // the lease has ended
	Blocks  int64  // while it captures: of the table; then: those that were captured
	Done    int64  // while it captures: those that are served or captured; then: those that are copied
}

// Progress returns one entry for each lease that captures, and for each one whose captured
// blocks have not been copied, by job and name.
func (s *Store) Progress() []Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Progress
	for l := range s.capturing {
		p := l.progress()
		p.Blocks = int64(l.request.Blocks)
		l.each(func(_ int, c *leased) { p.Done += int64(c.served().count()) })
		for _, taken := range l.taken {
			p.Done += int64(taken.count())
		}
		out = append(out, p)
	}
	left := map[*Lease]int64{}
	for _, w := range s.pending {
		left[w.lease] += int64(len(w.parts))
	}
	if s.copying != nil {
		left[s.copying.lease] += int64(len(s.copying.parts))
	}
	for l, n := range left {
		p := l.progress()
		p.Copying, p.Blocks, p.Done = true, l.queued, l.queued-n
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Progress) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Table.File, b.Table.File))
	})
	return out
}

func (l *Lease) progress() Progress {
	return Progress{Table: l.request.Table, Name: l.request.Name, Job: l.request.Job, PID: l.request.PID}
}
