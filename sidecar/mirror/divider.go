package mirror

import (
	"fmt"
	"sync"
)

// Divider divides memory that comes in extents. It is safe for concurrent use.
type Divider struct {
	more func() ([]byte, error) // nil: memory of Go

	mu   sync.Mutex
	rest []byte
}

// NewDivider returns a divider of the extents that more returns, which are aligned to 64 bytes.
func NewDivider(more func() ([]byte, error)) *Divider { return &Divider{more: more} }

// Take returns n bytes, aligned to 64. The error wraps ErrTooLong, or is that of more.
func (d *Divider) Take(n int) ([]byte, error) {
	if d.more == nil {
		return make([]byte, n), nil // cores can read it there; workers refuse it
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	size := max(alignUp(n, spanAlign), spanAlign)
	if size > len(d.rest) {
		fresh, err := d.more()
		if err != nil {
			return nil, err
		}
		if size > len(fresh) {
			return nil, fmt.Errorf("%w: %d bytes, an extent has %d", ErrTooLong, n, len(fresh))
		}
		if len(d.rest) > len(fresh)-size { // the larger rest is kept
			return fresh[:n:n], nil
		}
		d.rest = fresh
	}
	data := d.rest[:n:n]
	d.rest = d.rest[size:]
	return data, nil
}

// span is Take as a span, which is not one of the mirrors.
func (d *Divider) span(n int) (span, error) {
	data, err := d.Take(n)
	return span{data: data}, err
}
