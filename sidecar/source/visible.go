package source

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A server sends a transaction when its commit is in the WAL, and makes it visible to new
// snapshots a moment later. A snapshot that is taken in between is older than the mirrors, so
// a statement that reads directly would see less than an earlier one has seen.

// published is the transactions that the mirrors have published last. It is safe for
// concurrent use.
type published struct {
	mu   sync.Mutex
	xids [4096]uint32 // a ring; earlier ones have been visible for long
	n    int
}

func (p *published) add(xid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.xids[p.n%len(p.xids)] = xid
	p.n++
}

// forget is called when the stream begins anew, maybe at another server.
func (p *published) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = 0
}

// visibleIn reports whether a snapshot sees all of them.
func (p *published) visibleIn(s visibility) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, xid := range p.xids[:min(p.n, len(p.xids))] {
		if !s.sees(xid) {
			return false
		}
	}
	return true
}

// visibility is what a snapshot says of transactions that have been committed.
type visibility struct {
	limit   uint32              // the first transaction that had not begun
	running map[uint32]struct{} // those before it that had not ended
}

// sees reports whether a committed transaction is visible. Numbers of transactions wrap
// around.
func (v visibility) sees(xid uint32) bool {
	_, running := v.running[xid]
	return !running && int32(xid-v.limit) < 0
}

// parseVisibility reads a value of pg_snapshot: xmin:xmax:list, of numbers with 64 bits of
// which the lower 32 are those of the stream.
func parseVisibility(text string) (v visibility, err error) {
	fields := strings.Split(text, ":")
	if len(fields) != 3 {
		return v, errStream.because("a snapshot that is not valid")
	}
	number := func(s string) uint32 {
		n, failed := strconv.ParseUint(s, 10, 64)
		if failed != nil {
			err = errStream.because("a snapshot that is not valid")
		}
		return uint32(n)
	}
	v.limit, v.running = number(fields[1]), map[uint32]struct{}{}
	for xid := range strings.SplitSeq(fields[2], ",") {
		if xid != "" {
			v.running[number(xid)] = struct{}{}
		}
	}
	return v, err
}

// visibilityQuery is answered with a snapshot's visibility.
const visibilityQuery = "SELECT pg_catalog.pg_current_snapshot()"

// visibilityOf reads the answer to visibilityQuery, the last of several results.
func visibilityOf(results []*pgconn.Result) (visibility, error) {
	if len(results) == 0 || len(results[len(results)-1].Rows) != 1 || len(results[len(results)-1].Rows[0]) != 1 {
		return visibility{}, errStream.because("no snapshot")
	}
	return parseVisibility(string(results[len(results)-1].Rows[0][0]))
}

// snapshotPause is the time between two attempts to take a snapshot.
const snapshotPause = time.Millisecond
