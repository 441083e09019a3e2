package fault

import (
	"testing"

	"gpujoin/tests/harness"
)

// Valid frames at the wrong time or too often.

// again returns copies of a frame.
func again(t *testing.T, f *harness.Frame, n int) (copies []*harness.Frame) {
	for range n {
		c, err := f.Clone()
		if err != nil {
			t.Error(err)
			return copies
		}
		copies = append(copies, c)
	}
	return copies
}

// Extents that were not requested, or granted twice.
func TestHostileGrants(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	var kept *harness.Frame
	keep := func(t *testing.T, f *harness.Frame) {
		if kept != nil {
			kept.Drop()
		}
		if c := again(t, f, 1); len(c) == 1 {
			kept = c[0]
		}
	}
	t.Run("twice", func(t *testing.T) {
		v.suffers(t, harness.MsgGrant, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			keep(t, f)
			return append(again(t, f, 1), f), true
		}, rightRows, theSum)
	})
	t.Run("forty times", func(t *testing.T) {
		v.suffers(t, harness.MsgGrant, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			return append(again(t, f, 40), f), true
		}, rightRows, theSum)
	})
	for name, msg := range map[string]int{
		"before admission": harness.MsgAdmitted, "before fed ok": harness.MsgFedOK, "before running": harness.MsgRunning, "before a result": harness.MsgResult,
	} {
		t.Run(name, func(t *testing.T) {
			v.suffers(t, msg, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
				return append(again(t, kept, 1), f), true
			}, rightRows, theSum)
		})
	}
	kept.Drop()
	w.unharmed(t, v.Session)
}

// Results before any are possible, and more than requested while the backend
// waits for another message.
func TestHostileResults(t *testing.T) {
	w := theWorld(t)
	const long = "select b.k, md5(b.value), d.v from big b join dim d on b.k = d.k"
	v := newVictim(t, w, long)

	var kept *harness.Frame
	w.tell(t, harness.MsgResult, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		if c := again(t, f, 1); len(c) == 1 {
			kept = c[0]
		}
		return []*harness.Frame{f}, true
	})
	w.right(t, theSum, <-ask(v.Session, theSum))
	w.Proxy.Rewrite(nil)
	if kept == nil {
		t.Fatal("no result")
	}
	defer kept.Drop()
	for name, msg := range map[string]int{
		"before admission": harness.MsgAdmitted, "among grants": harness.MsgGrant, "before fed ok": harness.MsgFedOK, "before running": harness.MsgRunning,
	} {
		t.Run(name, func(t *testing.T) {
			v.suffers(t, msg, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
				return append(again(t, kept, 1), f), true
			}, rightRows, theSum)
		})
	}
	t.Run("without credit", func(t *testing.T) {
		v.suffers(t, harness.MsgChainExtent, 1, func(t *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
			return append(again(t, kept, 10), f), true
		}, rightRows, long)
	})
	w.unharmed(t, v.Session)
}

// END in place of results gives an empty result. The backend waits for an END
// that never comes as long as the user allows.
func TestNoEnd(t *testing.T) {
	w := theWorld(t)
	v := newVictim(t, w)
	exec(t, v.Session, "set statement_timeout = '300ms'")
	w.tell(t, harness.MsgEnd, 1, func(_ *testing.T, f *harness.Frame) ([]*harness.Frame, bool) {
		f.Drop()
		return nil, true
	})
	a := <-ask(v.Session, theSum)
	w.Proxy.Rewrite(nil)
	ended(t, a.err, "57014")
	exec(t, v.Session, "set statement_timeout = '20s'")
	v.recovers(t)
	w.unharmed(t, v.Session)
}
