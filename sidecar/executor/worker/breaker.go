package worker

import "time"

// breaker decides when a child that has ended is started again: after pauses
// that double, and after too many ends in a while only when the breaker has
// been open for long. What is wrong then is nothing that a restart mends.
type breaker struct {
	timing Timing
	deaths []time.Time // within the window
}

// died notes an end and returns the pause before the next start, and whether
// the breaker is open.
func (b *breaker) died(now time.Time) (pause time.Duration, open bool) {
	kept := b.deaths[:0]
	for _, d := range b.deaths {
		if now.Sub(d) < b.timing.Window {
			kept = append(kept, d)
		}
	}
	b.deaths = append(kept, now)
	if len(b.deaths) >= b.timing.Deaths {
		b.deaths = nil
		return b.timing.Open, true
	}
	pause = b.timing.RestartFirst << (len(b.deaths) - 1)
	return min(pause, b.timing.RestartMost), false
}
