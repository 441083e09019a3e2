package memory

import (
	"fmt"

	"gpujoin/joincore"
)

// Book charges n bytes that another process maps for the job to the account, as
// if they were allocated here, because one budget covers all processes. The
// caller must call Unbook; Close does not release booked bytes.
func (a *Account) Book(n int64) error {
	if n < 0 || n > a.budget.total {
		return fmt.Errorf("%w: %d bytes requested at once", joincore.ErrBudget, n)
	}
	if _, err := a.take(n, false); err != nil {
		return err
	}
	if err := a.store.book(n); err != nil {
		a.give(n, noWindow)
		return err
	}
	a.worker.Take(n)
	return nil
}

// Unbook releases n bytes charged by Book.
func (a *Account) Unbook(n int64) {
	a.store.pages.Give(n)
	a.worker.Give(n)
	a.give(n, noWindow)
}

// Place returns the extent of the store that contains b and b's offset in it,
// in bytes; ok is false if b is in no extent.
func (a *Account) Place(b []byte) (extent uint64, offset int64, ok bool) { return a.store.Place(b) }

// Retain keeps the extent of the job that contains b, so that it is not reused
// before release is called, which may be after Close. release is nil if b is in
// no extent.
func (a *Account) Retain(b []byte) (release func()) {
	if e := a.store.retain(b); e != nil {
		return e.Release
	}
	return nil
}

func (s *Store) book(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropStale(n)
	if err := s.makeRoom(n); err != nil {
		return err
	}
	s.pages.Take(n)
	return nil
}
