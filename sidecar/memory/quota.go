package memory

import "fmt"

// Role identifies a role of a cluster. The zero Role stands for none.
type Role struct {
	Cluster uint64 // the cluster's system identifier
	OID     uint32
}

// Quota limits the memory that a role's jobs reserve. The jobs of one role
// together reserve at most its share of the budget, those of one backend at most
// half of that. The only job of a role or of a backend may reserve more, so that
// a quota refuses no job because of its own size.
//
// A quota therefore protects a role from all others: whatever these leave open,
// they cannot hold all memory unless a single job does.
type Quota struct {
	Role  Role
	Share float64 // of the budget; 1: no limit
}

// backendPart is a backend's part of its role's share.
const backendPart = 0.5

func (q *Quota) limited() bool { return q.Role != Role{} && q.Share < 1 }

// exceeds returns an ErrShare if n more bytes exceed a quota of the claim; self
// is the claimant's account, nil if it has none yet. The caller holds b's lock.
func (b *Budget) exceeds(claim *Claim, n int64, self *Account) error {
	q := &claim.Quota
	if !q.limited() || self != nil && self.returning {
		return nil
	}
	ofRole := func(a *Account) bool { return a.claim.Quota.Role == q.Role }
	ofBackend := func(a *Account) bool { return ofRole(a) && a.claim.Group.meets(claim.Group) }
	share := q.Share * float64(b.total)
	if err := b.exceedsShare(ofRole, share, n, self, "role"); err != nil {
		return err
	}
	return b.exceedsShare(ofBackend, share*backendPart, n, self, "backend")
}

// exceedsShare returns an ErrShare if the accounts that are meant have a job
// besides self and would reserve more than share with n more bytes. The caller
// holds b's lock.
func (b *Budget) exceedsShare(meant func(*Account) bool, share float64, n int64, self *Account, who string) error {
	reserved := int64(0)
	for a := range b.accounts {
		if meant(a) {
			reserved += a.booked
		}
	}
	if float64(reserved+n) <= share {
		return nil
	}
	for a := range b.holders {
		if a != self && meant(a) && a.claim.holds() {
			return fmt.Errorf("%w: %d bytes requested, the %s may reserve %d and has reserved %d", ErrShare, n, who, int64(share), reserved)
		}
	}
	return nil
}

// Returning lets the account grow beyond its quota: its job returns rows, so it
// can no longer run elsewhere.
func (a *Account) Returning() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.returning = true
}
