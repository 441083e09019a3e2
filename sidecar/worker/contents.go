package worker

import (
	"fmt"
	"sync"

	"gpujoin/sidecar/worker/control"
)

// contents is what is known of the contents (joincore.Vector) on a child's devices. A new child
// has none.
type contents struct {
	mu      sync.Mutex
	gone    []uint64 // that the child is to be told
	version uint64
	bytes   map[uint64]int64 // replaced, and never changed
}

// forget has the child told that a content is gone, if its devices may have it.
func (c *contents) forget(content uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = append(c.gone, content)
}

// mostGone bounds the contents in one request.
const mostGone = 1 << 16

// ask returns a request for the child's status.
func (c *contents) ask() *control.StatusRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.gone), mostGone)
	r := &control.StatusRequest{Gone: c.gone[:n:n], Version: c.version}
	if c.gone = c.gone[n:]; len(c.gone) == 0 {
		c.gone = nil
	}
	return r
}

// note takes what a child has answered; nil: what it said before.
func (c *contents) note(now *control.Contents) error {
	if now == nil {
		return nil
	}
	bytes, err := now.Decode()
	if err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.bytes = now.GetVersion(), bytes
	return nil
}

// resident returns the contents, with their bytes.
func (c *contents) resident() map[uint64]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
