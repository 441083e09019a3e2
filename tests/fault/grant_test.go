package fault

import (
	"encoding/binary"
	"fmt"
	"testing"

	"gpujoin/tests/harness"
	"gpujoin/tests/harness/point"
)

// A GRANT of fewer extents than requested settles its WANT: the backend asks
// again for what it needs.
func TestPartialGrants(t *testing.T) {
	w := theWorld(t)
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			point.Point{What: "grants fewer extents than requested", Process: daemon, Moment: "grant", Shape: fmt.Sprintf("joins, %d workers", workers), Expect: point.AllRows}.Announce(t)
			s := w.proxied(t, fmt.Sprintf("set max_parallel_workers_per_gather = %d; set statement_timeout = '20s'", workers))
			partial := 0
			w.Proxy.Rewrite(func(f *harness.Frame) ([]*harness.Frame, bool) {
				if f.Type == harness.MsgWant && binary.LittleEndian.Uint32(f.Body()) > 1 {
					partial++
					binary.LittleEndian.PutUint32(f.Body(), 1)
				}
				return []*harness.Frame{f}, true
			})
			for _, sql := range []string{theSum, theJoin, "select b.k, length(b.value) from big b join big c on b.k = c.k"} {
				w.right(t, sql, <-ask(s, sql))
			}
			w.Proxy.Rewrite(nil)
			if partial == 0 {
				t.Error("no GRANT was partial")
			}
			w.unharmed(t, s)
		})
	}
}
