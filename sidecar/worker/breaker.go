package worker

import "time"

// breaker decides when a child that has ended is restarted. The pause doubles
// with each end. After too many ends within a window the breaker opens, since
// another restart is unlikely to help, and the child is restarted only after a
// long pause.
type breaker struct {
	timing Timing
	deaths []time.Time // within the window
}

// died records an end and returns the pause before the next start, and whether
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
