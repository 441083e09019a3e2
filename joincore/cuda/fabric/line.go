package fabric

import (
	"slices"
	"time"
)

// line is copies under way that end one after the other, in this order.
type line struct{ copies []posted }

// posted is a copy under way.
type posted struct {
	end  ending // nil: the copy could not be queued
	over        // what follows
}

// ending tells when a copy has ended.
type ending interface {
	// ended reports whether the copy has ended, or returns the error by which it has
	// failed.
	ended() (bool, error)
}

// add puts a copy behind the others.
func (l *line) add(p posted) { l.copies = append(l.copies, p) }

// take removes the copies that have ended and calls each for them.
//
// The end of a copy is that of all before it. A copy over a slow link, which cannot have
// ended yet, does not delay those behind it over faster links: they are asked in its place.
func (l *line) take(now time.Time, each func(posted)) {
	ended := 0
	for i := range l.copies {
		p := &l.copies[i]
		if now.Before(p.until) {
			continue
		}
		done, err := ended == i, error(nil) // one that could not be queued ends with those before it
		if p.end != nil {
			done, err = p.end.ended()
		}
		if !done && err == nil {
			break
		}
		for ; ended <= i; ended++ {
			if l.copies[ended].err == nil {
				l.copies[ended].err = err
			}
		}
	}
	for _, p := range l.copies[:ended] {
		each(p)
	}
	l.copies = slices.Delete(l.copies, 0, ended)
}
