package memory

import "errors"

// Shortage tells whose memory the waiting requests of a Budget lack.
type Shortage struct {
	any   bool              // everybody's
	roles map[Role]struct{} // that of these roles
}

// Waiting returns a channel that receives a value when a request begins to wait.
// It has one receiver.
func (b *Budget) Waiting() <-chan struct{} { return b.waiting }

// Shortage returns the shortage of the requests that wait now.
func (b *Budget) Shortage() Shortage {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Shortage{roles: map[Role]struct{}{}}
	for _, w := range b.queue {
		lack := b.lacks(w)
		switch {
		case errors.Is(lack, ErrShare):
			s.roles[w.claim.Quota.Role] = struct{}{}
		case lack != nil:
			s.any = true
			return s
		}
	}
	return s
}

// Concerns reports whether memory that a gives back helps.
func (s Shortage) Concerns(a *Account) bool {
	if _, ok := s.roles[a.claim.Quota.Role]; ok {
		return true
	}
	return s.any
}
