package mirrorcheck

import (
	"context"
	"strconv"
	"time"
)

// The bytes of the source's changes that a mirror lacks when writers begin to wait, and when they
// go on. What is checked is what queries see, not how fast changes are applied: where servers,
// daemon and clients share few cores, writers can outrun a stream for as long as they like.
const (
	mostBehind  = 32 << 20
	leastBehind = 4 << 20
)

// pacer lets writers wait while a mirror is far behind.
type pacer struct{ *client }

func (p *pacer) run(ctx context.Context) error {
	defer p.world.behind.Store(false)
	for ctx.Err() == nil {
		if bytes, err := p.lag(ctx); err == nil {
			limit := int64(mostBehind)
			if p.world.behind.Load() {
				limit = leastBehind
			}
			p.world.behind.Store(bytes > limit)
		} else { // a fault or a restart hides the lag: writers go on
			p.world.behind.Store(false)
		}
		p.pause(ctx, 400*time.Millisecond)
	}
	p.close()
	return nil
}

func (p *pacer) lag(ctx context.Context) (int64, error) {
	if _, err := p.connect(ctx, p.world.Local); err != nil {
		return 0, err
	}
	text, err := p.value("select coalesce(max(lag_bytes), 0) from gpujoin.mirrors")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}
