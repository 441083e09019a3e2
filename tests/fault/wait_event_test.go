package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gpujoin/tests/harness"
)

// Since PostgreSQL 17, pg_stat_activity shows by name what a backend waits for.
func TestWaitEvents(t *testing.T) {
	w := theWorld(t)
	names := query(t, w.Session(t), "select current_setting('server_version_num')::int >= 170000").Rows[0] == "t"
	for _, c := range []struct {
		held int // the answer that does not come
		nth  int
		name string
	}{
		{harness.MsgWelcome, 1, "GpujoinConnect"},
		{harness.MsgAdmitted, 1, "GpujoinAdmit"},
		{harness.MsgGrant, 1, "GpujoinFeed"},
		{harness.MsgRunning, 1, "GpujoinJoin"},
		{harness.MsgResult, 2, "GpujoinResult"},
	} {
		if !names {
			c.name = "Extension"
		}
		t.Run(fmt.Sprint(c.held), func(t *testing.T) {
			s := w.proxied(t, serial, "set gpujoin.connect_timeout = '30s'")
			pid := query(t, s, "select pg_backend_pid()").Rows[0]
			hold, done := w.held(t, s, theJoin, c.held, c.nth)
			other := w.Session(t)
			seen := ""
			for deadline := time.Now().Add(20 * time.Second); seen != "Extension|"+c.name && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				seen = strings.Join(query(t, other, "select concat(wait_event_type, '|', wait_event) from pg_stat_activity where pid = "+pid).Rows, "")
			}
			if seen != "Extension|"+c.name {
				t.Errorf("it waits for %q, not for %s", seen, c.name)
			}
			hold.Release()
			w.right(t, theJoin, soon(t, done))
		})
	}
}
