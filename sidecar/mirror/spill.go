package mirror

import (
	"fmt"
	"sync"
)

// spill divides a reader's memory.
type spill struct {
	more func() ([]byte, error) // nil: memory of Go

	mu   sync.Mutex
	rest []byte
}

// take returns n bytes. The error wraps ErrTooLong, or is that of more.
func (s *spill) take(n int) ([]byte, error) {
	if s.more == nil {
		return make([]byte, n), nil // cores can read it there; workers refuse it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := max(alignUp(n, spanAlign), spanAlign)
	if size > len(s.rest) {
		fresh, err := s.more()
		if err != nil {
			return nil, err
		}
		if size > len(fresh) {
			return nil, fmt.Errorf("%w: %d bytes, an extent has %d", ErrTooLong, n, len(fresh))
		}
		if len(s.rest) > len(fresh)-size { // the larger rest is kept
			return fresh[:n:n], nil
		}
		s.rest = fresh
	}
	data := s.rest[:n:n]
	s.rest = s.rest[size:]
	return data, nil
}

// span is take as a span, which is not one of the mirrors.
func (s *spill) span(n int) (span, error) {
	data, err := s.take(n)
	return span{data: data}, err
}
