package foreign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpujoin/sidecar/source"
)

// removals waits until all sessions have ended that must, and returns what was removed at sources:
// host and slot of each, and whether its publication.
func (w *world) removals() (list []string) {
	w.sources.ending.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.removed {
		list = append(list, fmt.Sprintf("%s %q %v", o.Keywords["host"], o.Slot, o.Maker != ""))
	}
	w.removed = nil
	slices.Sort(list)
	return list
}

// expect compares the removals since the last call.
func (w *world) expect(what string, want ...string) {
	w.t.Helper()
	if got := w.removals(); !slices.Equal(got, want) {
		w.t.Errorf("%s: %q was removed instead of %q", what, got, want)
	}
}

func withSlot(o object, slot string) object { return with(o, "slot", slot) }

// TestDropped: what sessions have left at the source goes with the server, the mapping or the
// database, after the last pin, and also if another daemon had the session.
func TestDropped(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	held := must[pinAnswer](w, p, KindPin, pinRequest(withSlot(sourceOf(1), "one"), tableOf("a")))
	must[empty](w, p, KindUnmirror, object{"source": withSlot(sourceOf(2), "two"), "tables": []object{tableOf("a")}})
	must[empty](w, p, KindClose, object{"server": 16400, "mapping": 1})
	w.expect("a session with a pin")
	must[empty](w, p, KindUnpin, object{"token": held.Token})
	w.expect("its last pin", `db1 "one" true`)
	w.refuse = &source.Error{SQLState: "08001", Message: "down"}
	must[empty](w, p, KindClose, object{"server": 16400})
	w.expect("all mappings, of a source that is down for a moment", `db1 "two" true`)
	w.refuse = &source.Error{SQLState: "42501", Message: "no"}
	must[empty](w, p, KindClose, object{"server": 16400, "mapping": 3, "source": withSlot(sourceOf(3), "three")})
	w.expect("a source that refuses it")
	must[empty](w, p, KindClose, object{"server": 16400, "mapping": 3, "source": withSlot(sourceOf(3), "three")})
	w.expect("the session of another daemon", `db1 "three" true`)

	elsewhere := p
	elsewhere.Database = 6
	must[empty](w, elsewhere, KindUnmirror, object{"source": withSlot(sourceOf(1), "four"), "tables": []object{tableOf("a")}})
	must[empty](w, p, KindUnmirror, object{"source": withSlot(sourceOf(1), "five"), "tables": []object{tableOf("a")}})
	must[empty](w, p, KindClose, object{"database": 6})
	w.expect("a database", `db1 "four" true`)
}

// TestReplaced: a session with other options takes nothing away that its successor uses.
func TestReplaced(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	use := func(o object) {
		t.Helper()
		must[empty](w, p, KindUnmirror, object{"source": o, "tables": []object{tableOf("a")}})
	}
	use(withSlot(sourceOf(1), "one"))
	use(withSlot(sourceOf(1, "password", "new"), "one"))
	w.expect("another password")
	use(withSlot(sourceOf(1), "two"))
	w.expect("another slot", `db1 "one" false`)
	use(withSlot(sourceOf(1, "host", "db2"), "two"))
	w.expect("another host", `db1 "two" true`)
	use(withSlot(sourceOf(2, "host", "db2"), "two"))
	must[empty](w, p, KindClose, object{"server": 16400, "mapping": 1})
	w.expect("a slot that another session uses", `db2 "" true`)
}

// TestTablesDropped: the mirrors of a dropped table end in the sessions of all mappings, which go on.
func TestTablesDropped(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	for mapping := range 2 {
		must[mirrorAnswer](w, p, KindMirror, object{"source": sourceOf(mapping + 1), "tables": []object{tableOf("a"), tableOf("b")}, "wait_ms": 0})
	}
	must[empty](w, p, KindClose, object{"server": 16400, "tables": []object{tableOf("a")}})
	list := must[listAnswer](w, p, KindMirrors, object{})
	if len(list.Mirrors) != 2 || list.Mirrors[0].Table != "b" || list.Mirrors[1].Table != "b" {
		t.Errorf("%+v", list)
	}
	w.expect("a table")
}

// TestLeftovers: the log has what a person executes at the source.
func TestLeftovers(t *testing.T) {
	o := source.Options{Slot: "s", Publication: `a"b`, Maker: "m"}
	if got := leftovers(o); got != `SELECT pg_drop_replication_slot('s'); DROP PUBLICATION IF EXISTS "a""b"` {
		t.Error(got)
	}
	if got := leftovers(source.Options{Maker: "m"}); !strings.Contains(got, `"gpujoin"`) {
		t.Error(got)
	}
}

// TestMirrorFailure: MIRROR says why a table has no mirror, as the source's error does.
func TestMirrorFailure(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	request := object{"source": sourceOf(1), "tables": []object{tableOf("a")}, "wait_ms": -1}
	must[mirrorAnswer](w, p, KindMirror, request)
	name := source.Name{Schema: "public", Table: "a"}
	w.opened[0].state[name] = source.TableStatus{Name: name, State: source.StateFailed,
		Reason: &source.Error{SQLState: "42501", Message: "the role may not read the table", Detail: "a", Hint: "GRANT"}}
	got := must[mirrorAnswer](w, p, KindMirror, request).Tables[0]
	if got.State != source.StateFailed || got.Error == nil || *got.Error != (errorAnswer{"42501", "the role may not read the table", "a", "GRANT"}) {
		t.Errorf("%+v, %+v", got, got.Error)
	}
}
