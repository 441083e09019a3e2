package fault

import (
	"strings"
	"testing"
	"time"

	"gpujoin/shm"
	"gpujoin/tests/harness"
)

// A daemon of another version, or one that shows no sign of life, is not
// offered: its queries are not planned for it, fed to it, and then run natively.
func TestPlannerAsksTheStatusFile(t *testing.T) {
	w := theWorld(t)
	for _, c := range []struct {
		name, word string // "": offered
		pulse      pulse
	}{
		{"fresh", "", pulse{}},
		{"slow", "", pulse{age: 2 * time.Second}},
		{"silent", "silent", pulse{age: 10 * time.Second}},
		{"dated by another clock", "", pulse{age: -time.Hour}},
		{"other protocol", "version", pulse{edit: func(s *shm.Status) { s.ProtocolVersion++ }}},
		{"other job", "version", pulse{edit: func(s *shm.Status) { s.JobVersion-- }}},
		{"other layout", "version", pulse{edit: func(s *shm.Status) { s.Version++ }}},
		{"no status file", "daemon", pulse{edit: func(s *shm.Status) { s.Magic++ }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.pulse.every, c.pulse.share = time.Hour, 1000
			c.pulse.play(t, w, w.Proxy.Socket)
			s := w.proxied(t, serial, "set gpujoin.explain_rejected = on", "set gpujoin.enable_aggregates = on")
			hellos := framesSeen(t, w, harness.MsgHello)
			for _, sql := range []string{theJoin, "select g, count(*) from fact group by g"} {
				s.Notices()
				plan := strings.Join(query(t, s, "explain "+sql).Rows, "\n")
				notices := strings.Join(s.Notices(), "\n")
				if offered := strings.Contains(plan, "Custom Scan"); offered != (c.word == "") {
					t.Errorf("%s: offered: %v\n%s", sql, offered, notices)
				}
				if c.word != "" && !strings.Contains(notices, c.word) {
					t.Errorf("%s: the notice does not say %q: %s", sql, c.word, notices)
				}
				w.right(t, sql, <-ask(s, sql))
			}
			if n := hellos.Load(); (n > 0) != (c.word == "") {
				t.Errorf("%d connections", n)
			}
		})
	}
	w.unharmed(t, nil)
}
