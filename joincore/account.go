package joincore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Account counts the bytes that a part of the process uses, and allocates for it. Accounts
// form a tree: what an account uses, the accounts above it use too. The source of the root has
// the memory, and decides whether there is more. All methods are safe for concurrent use.
type Account struct {
	name              string
	above, root       *Account
	used, peak, limit atomic.Int64

	source Memory // of the root
	counts bool   // of the root: the source counts what the root uses

	mu     sync.Mutex
	below  []*Account
	blocks map[*byte]lent // of the root: what the tree has allocated, by the first byte
}

// lent is memory as the source returned it, and who uses it.
type lent struct {
	memory []byte
	to     *Account
}

// NewAccount returns an account below the one that from is or embeds. If from has none, the
// account is a root with that source.
func NewAccount(name string, from Memory) *Account {
	a := &Account{name: name, source: from}
	a.root = a
	if within, ok := from.(interface{ account() *Account }); ok {
		a.above = within.account()
		a.root = a.above.root
		a.above.mu.Lock()
		defer a.above.mu.Unlock()
		a.above.below = append(a.above.below, a)
	}
	return a
}

// NewRoot returns a root whose source itself counts what the root uses, by Take and Give. So
// it can compare and count in one step, and count more than it was asked for. The accounts
// below count what they asked for.
func NewRoot(source Memory) *Account {
	a := &Account{source: source, counts: true}
	a.root = a
	return a
}

func (a *Account) account() *Account { return a }

// Take counts n more bytes.
func (a *Account) Take(n int64) {
	used := a.used.Add(n)
	for peak := a.peak.Load(); used > peak && !a.peak.CompareAndSwap(peak, used); {
		peak = a.peak.Load()
	}
	if a.above != nil && !a.above.counts {
		a.above.Take(n)
	}
}

// Give reverses Take.
func (a *Account) Give(n int64) { a.Take(-n) }

// Alloc implements Memory.
func (a *Account) Alloc(n int64) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrInvalid, n)
	}
	if n == 0 {
		return []byte{}, nil
	}
	b, err := a.root.source.Alloc(n)
	if err != nil {
		return nil, err
	}
	if !a.counts {
		a.Take(n)
	}
	a.root.mu.Lock()
	defer a.root.mu.Unlock()
	if a.root.blocks == nil {
		a.root.blocks = map[*byte]lent{}
	}
	a.root.blocks[&b[0]] = lent{b, a}
	return b[:n:n], nil
}

// Free implements Memory. b may be from any account of the tree, and shorter than Alloc
// returned it.
func (a *Account) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	first := &b[:1][0]
	a.root.mu.Lock()
	x, ok := a.root.blocks[first]
	delete(a.root.blocks, first)
	a.root.mu.Unlock()
	if !ok {
		panic("joincore: Free of what Alloc did not return")
	}
	a.root.source.Free(x.memory)
	if !x.to.counts {
		x.to.Give(int64(len(x.memory)))
	}
}

// Close frees what the account and those below it have allocated, returns how many blocks that
// were, and leaves.
func (a *Account) Close() int {
	var left [][]byte
	a.root.mu.Lock()
	for _, x := range a.root.blocks {
		if x.to.within(a) {
			left = append(left, x.memory)
		}
	}
	a.root.mu.Unlock()
	for _, b := range left {
		a.Free(b)
	}
	a.Leave()
	return len(left)
}

func (a *Account) within(b *Account) bool {
	return a == b || a.above != nil && a.above.within(b)
}

// Leave takes the account out of the reports on those above it. They still count what it has
// not freed.
func (a *Account) Leave() {
	if a.above != nil {
		a.above.mu.Lock()
		defer a.above.mu.Unlock()
		a.above.below = slices.DeleteFunc(a.above.below, func(o *Account) bool { return o == a })
	}
}

// Used returns the bytes in use.
func (a *Account) Used() int64 { return a.used.Load() }

// Peak returns the most bytes that were in use at a time.
func (a *Account) Peak() int64 { return a.peak.Load() }

// Limit returns the bytes that the account may use; 0: as many as those above it.
func (a *Account) Limit() int64 { return a.limit.Load() }

// AddLimit raises the limit by n bytes. Those who grant memory compare with it.
func (a *Account) AddLimit(n int64) { a.limit.Add(n) }

// AccountUsage is what one account reports, in bytes.
type AccountUsage struct {
	Path  string `json:"path"` // names from the root on, with slashes between
	Used  int64  `json:"used"`
	Peak  int64  `json:"peak"`
	Limit int64  `json:"limit,omitempty"` // 0: none of its own
}

// Report appends what the account, which is called path, and those below it use. It leaves out
// accounts that have never been used.
func (a *Account) Report(path string, to []AccountUsage) []AccountUsage {
	if a.Peak() == 0 && a.above != nil {
		return to
	}
	to = append(to, AccountUsage{path, a.Used(), a.Peak(), a.Limit()})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.below {
		to = b.Report(path+"/"+b.name, to)
	}
	return to
}
