package foreign

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gpujoin/sidecar/source"
)

// TestPosition: a statement sees what was committed before it began, in all tables, and
// keeps seeing that; without a stream it fails in time.
func TestPosition(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	request := pinRequest(sourceOf(1), tableOf("a"), tableOf("b"))
	first := must[pinAnswer](w, p, KindPin, request)
	f := w.opened[0]
	if !first.Tables[0].Direct || first.Tables[0].Reason != "mirror is loading" || f.snapshots != 1 {
		t.Errorf("%s, %d snapshots", first, f.snapshots)
	}
	must[empty](w, p, KindUnpin, object{"token": first.Token})
	if f.snapshots != 0 {
		t.Error("UNPIN leaves the snapshot")
	}
	f.load("a")
	f.load("b")
	f.commit(true, "a", 1, 2)
	f.commit(true, "b", 1)
	second := must[pinAnswer](w, p, KindPin, request)
	if second.Position != "0/4B0" || second.Tables[0].Direct || second.Tables[1].Direct || second.Tables[0].Rows != 2 {
		t.Errorf("%s", second)
	}
	f.commit(false, "a", 3)
	late := make(chan pinAnswer)
	go func() { late <- must[pinAnswer](w, p, KindPin, with(request, "timeout_ms", 30_000)) }()
	time.Sleep(20 * time.Millisecond)
	select {
	case third := <-late:
		t.Errorf("a commit is missing: %s", third)
	default:
	}
	f.deliver(f.at)
	third := <-late
	if a, b := w.rows(p, second.Token, "a"), w.rows(p, third.Token, "a"); a != 2 || b != 3 || third.Position != "0/514" || third.Waited < 10_000 {
		t.Errorf("%d rows before, %d after the commit; %s, %d us", a, b, third, third.Waited)
	}
	f.commit(false, "a", 4)
	if _, failed := ask[pinAnswer](w, p, KindPin, request); failed == nil || failed.SQLState != "57014" {
		t.Errorf("%v", failed)
	}
}

// TestInterval: with an interval, a stream that is young enough is not asked about; one that
// is older is waited for. Positions do not go backwards. When the source is gone, latest
// fails and tells how old the mirrors are.
func TestInterval(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	request := pinRequest(sourceOf(1), tableOf("a"))
	must[empty](w, p, KindUnpin, object{"token": must[pinAnswer](w, p, KindPin, request).Token})
	f := w.opened[0]
	f.load("a")
	f.commit(true, "a", 1)
	f.age, f.down, f.questions = 3*time.Second, &source.Error{SQLState: "08006", Message: "gone"}, 0
	young := must[pinAnswer](w, p, KindPin, with(request, "freshness_ms", 5000))
	if young.Tables[0].Direct || young.Age != 3_000_000 || f.questions != 0 {
		t.Errorf("%s, age %d, %d questions", young, young.Age, f.questions)
	}
	for what, r := range map[string]object{
		"latest": request, "a second": with(request, "freshness_ms", 1000),
		"a later position": with(with(request, "freshness_ms", 5000), "not_before", "0/FFFF"),
	} {
		_, failed := ask[pinAnswer](w, p, KindPin, r)
		if failed == nil || failed.SQLState != "57014" || !strings.Contains(failed.Detail, "gone; the mirrors are 3.0 s old") {
			t.Errorf("%s: %v", what, failed)
		}
	}
	f.down = &source.Error{SQLState: "28P01", Message: "wrong password"}
	began := time.Now()
	if _, failed := ask[pinAnswer](w, p, KindPin, with(request, "timeout_ms", 60_000)); failed == nil || failed.SQLState != "28P01" || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %v", failed, time.Since(began))
	}
}

// TestDirect: each reason for which a table is read directly, and what that means for the
// others of the statement.
func TestDirect(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a"), tableOf("b")))
	f := w.opened[0]
	f.load("a")
	f.state[source.Name{Schema: "public", Table: "b"}] = source.TableStatus{Name: source.Name{Schema: "public", Table: "b"}, State: source.StateFailed,
		Reason: &source.Error{SQLState: "0A000", Message: "it has no key", Hint: "add one"}}
	f.state[source.Name{Schema: "public", Table: "c"}] = source.TableStatus{Name: source.Name{Schema: "public", Table: "c"}, State: source.StateLoading,
		Reason: &source.Error{SQLState: "53200", Message: "no memory"}, Next: time.Now().Add(5 * time.Minute)}
	other := object{"name": "n", "type": 23, "typmod": -1, "text": false}
	text := object{"name": "n", "type": 16500, "typmod": -1, "text": true}
	for _, c := range []struct {
		table  object
		reason string
	}{
		{tableOf("a"), ""},
		{with(tableOf("a"), "mirror", false), "its option mirror is off"},
		{tableOf("a", text), "column n has a type that is not mirrored"},
		{tableOf("a", other), "column n has another type at the source"},
		{tableOf("a", int8Column("x")), "the mirror has no column x"},
		{tableOf("b"), "it has no key"},
		{tableOf("c"), "no memory; it loads again in 5m0s"},
	} {
		got := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), c.table))
		if got.Tables[0].Reason != c.reason || got.Tables[0].Direct != (c.reason != "") {
			t.Errorf("%q: %s", c.reason, got)
		}
	}
	together := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a"), tableOf("b")))
	if !together.Tables[0].Direct || !strings.Contains(together.Tables[0].Reason, `"public"."b" of the same statement`) || together.Tables[1].Hint != "add one" {
		t.Errorf("%s", together)
	}
	mixed := must[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("a"), tableOf("b")), "mix", true))
	if mixed.Tables[0].Direct || !mixed.Tables[1].Direct {
		t.Errorf("%s", mixed)
	}
	twice := must[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("a"), tableOf("a", text)), "mix", true))
	if !twice.Tables[0].Direct || !twice.Tables[1].Direct {
		t.Errorf("a table is read in two ways: %s", twice)
	}
}

// TestShow: EXPLAIN begins nothing and holds nothing.
func TestShow(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	got := must[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("a")), "show", true))
	f := w.opened[0]
	if got.Token != "" || !got.Tables[0].Direct || got.Tables[0].Reason != "it is not mirrored yet" || len(f.state) != 0 || f.snapshots != 0 || p.Owner.Holds() {
		t.Errorf("%s: %v, %d snapshots", got, f.state, f.snapshots)
	}
}

// TestAgain: a later statement of a transaction reads other tables at the position of the
// first one, or not at all.
func TestAgain(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	request := pinRequest(sourceOf(1), tableOf("a"))
	direct := must[pinAnswer](w, p, KindPin, request)
	f := w.opened[0]
	for _, table := range []string{"a", "b"} {
		f.load(table)
	}
	f.commit(true, "a", 1)
	f.commit(true, "b", 1)
	first := must[pinAnswer](w, p, KindPin, request)
	f.commit(true, "b", 2)
	again := must[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("b")), "token", first.Token))
	must[empty](w, p, KindUnpin, object{"token": first.Token})
	if again.Position != first.Position || w.rows(p, again.Token, "b") != 1 {
		t.Errorf("%s, after %s", again, first)
	}
	if got := must[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("b")), "token", direct.Token)); !got.Tables[0].Direct || f.snapshots != 1 {
		t.Errorf("%s, %d snapshots", got, f.snapshots)
	}
	_, failed := ask[pinAnswer](w, p, KindPin, with(pinRequest(sourceOf(1), tableOf("c")), "token", again.Token))
	if failed == nil || failed.SQLState != "55000" || !strings.Contains(failed.Message, `"c" cannot be read at the position`) {
		t.Errorf("%v", failed)
	}
	must[empty](w, p, KindUnpin, object{"token": again.Token})
	if _, failed = ask[pinAnswer](w, p, KindPin, with(request, "token", first.Token)); failed == nil || failed.SQLState != "55000" {
		t.Errorf("an ended pin: %v", failed)
	}
}

// TestHeld: what a pin sees stays, though the mirror fails.
func TestHeld(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	request := pinRequest(sourceOf(1), tableOf("a"))
	must[pinAnswer](w, p, KindPin, request)
	f := w.opened[0]
	f.load("a")
	f.commit(true, "a", 1, 2, 3)
	pin := must[pinAnswer](w, p, KindPin, request)
	must[empty](w, p, KindUnmirror, object{"source": sourceOf(1), "tables": []object{tableOf("a")}})
	if n := w.rows(p, pin.Token, "a"); n != 3 {
		t.Errorf("%d rows", n)
	}
	if got := must[pinAnswer](w, p, KindPin, with(request, "mirror", false)); !got.Tables[0].Direct || got.Tables[0].Reason != "it is not mirrored yet" {
		t.Errorf("%s", got)
	}
}

// TestOwner: pins end with their connection, unless a job holds them; another database or
// cluster does not find them.
func TestOwner(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	pin := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a")))
	if len(pin.Token) != 32 {
		t.Errorf("token %q", pin.Token)
	}
	for _, other := range []Peer{{Cluster: 8, Database: 5}, {Cluster: 7, Database: 6}} {
		if _, err := w.sources.Find(pin.Token, other); err == nil {
			t.Errorf("%v finds the pin", other)
		}
	}
	stranger := w.peer()
	must[empty](w, stranger, KindUnpin, object{"token": pin.Token})
	job, err := w.sources.Find(pin.Token, p)
	if err != nil {
		t.Fatal(err)
	}
	p.Owner.Close()
	if f := w.opened[0]; f.snapshots != 1 {
		t.Error("the job's pin has ended")
	}
	if again, err := w.sources.Find(pin.Token, p); err != nil {
		t.Error(err) // another job of the same statement
	} else {
		again.Release()
	}
	job.Release()
	if f := w.opened[0]; f.snapshots != 0 {
		t.Error("the pin is left")
	}
	if _, err := w.sources.Find(pin.Token, p); err == nil {
		t.Error("the pin is found after its end")
	}
	must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a")))
	if f := w.opened[0]; f.snapshots != 0 || p.Owner.Holds() {
		t.Error("a pin outlives its connection")
	}
}

// TestSessions: each mapping has its own session; other options replace one, which lives as
// long as its pins.
func TestSessions(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	one := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a")))
	must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a")))
	must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(2), tableOf("a")))
	if len(w.opened) != 2 {
		t.Fatalf("%d sessions", len(w.opened))
	}
	w.opened[0].load("a")
	w.opened[0].commit(true, "a", 1)
	held := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a")))
	if got := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(2), tableOf("a"))); held.Tables[0].Direct || !got.Tables[0].Direct {
		t.Errorf("a mapping reads the other's mirror: %s", got)
	}
	if got := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1, "password", secret+"2"), tableOf("a"))); len(w.opened) != 3 || !got.Tables[0].Direct {
		t.Errorf("%d sessions: %s", len(w.opened), got)
	}
	if w.opened[0].closed || w.rows(p, held.Token, "a") != 1 {
		t.Error("the session has ended before its pins")
	}
	for _, token := range []string{one.Token, held.Token} {
		must[empty](w, p, KindUnpin, object{"token": token})
	}
	p.Owner.Close()
	must[empty](w, p, KindClose, object{"server": 16400, "mapping": 2})
	if list := must[listAnswer](w, p, KindMirrors, object{}); len(list.Mirrors) != 1 || list.Mirrors[0].Mapping != 1 || list.Mirrors[0].State != "loading" {
		t.Errorf("%+v", list)
	}
	w.sources.ending.Wait()
	if !w.opened[0].closed || !w.opened[1].closed || w.opened[2].closed {
		t.Error("a session outlives its pins, or one has ended that is in use")
	}
}

// TestTables: MIRROR, MIRRORS, SIZE and IMPORT.
func TestTables(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	tables := object{"source": sourceOf(1), "tables": []object{tableOf("a"), tableOf("b")}}
	if got := must[mirrorAnswer](w, p, KindMirror, with(tables, "wait_ms", 0)); got.Tables[0].State != source.StateLoading || got.Tables[0].Reason != "mirror is loading" {
		t.Errorf("%+v", got)
	}
	w.opened[0].load("a")
	w.opened[0].commit(true, "a", 1, 2)
	if got := must[mirrorAnswer](w, p, KindMirror, with(tables, "wait_ms", -1)); got.Tables[0] != (mirrorState{source.StateReady, 2, "", nil}) {
		t.Errorf("%+v", got)
	}
	if got := must[sizeAnswer](w, p, KindSize, tables); got.Tables[0].Rows != 2 || got.Tables[0].Bytes == 0 || got.Tables[1] != (tableSize{1000, 8192}) {
		t.Errorf("%+v", got)
	}
	list := must[listAnswer](w, p, KindMirrors, object{})
	if len(list.Mirrors) != 2 || list.Mirrors[0].Rows != 2 || list.Mirrors[0].Total != 1000 || list.Mirrors[1].Reason == "" || list.Mirrors[0].Position != "0/44C" {
		t.Errorf("%+v", list)
	}
	if other := must[listAnswer](w, Peer{Cluster: 7, Database: 6, Owner: &Owner{}}, KindMirrors, object{}); len(other.Mirrors) != 0 {
		t.Errorf("another database sees %+v", other)
	}
	got := must[importAnswer](w, p, KindImport, object{"source": sourceOf(1), "schema": "public", "only": nil, "except": []string{"b"}})
	if len(got.Tables) != 2 || len(got.Tables[0].Columns) != 2 || got.Tables[0].Columns[0].Type != "bigint" {
		t.Errorf("%+v", got)
	}
	if got := must[importAnswer](w, p, KindImport, object{"source": sourceOf(1), "schema": "public", "only": []string{}}); len(got.Tables) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestCheck: rows that only one side has are counted; a table that changes meanwhile is
// compared again, while changes of others do no harm.
func TestCheck(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a"), tableOf("b")))
	f := w.opened[0]
	f.load("a")
	f.load("b")
	f.commit(true, "a", 1, 2, 3)
	request := object{"source": sourceOf(1), "table": tableOf("a"), "columns": []object{int8Column("n"), int8Column("id")}}
	changes := 0
	f.during = func() { f.commit(true, "b", int64(100+changes)); changes++ }
	for _, c := range []struct {
		ids  []int64
		want checkAnswer
	}{
		{[]int64{3, 1, 2}, checkAnswer{Rows: 3}},
		{[]int64{1, 2}, checkAnswer{Rows: 3, Extra: 1}},
		{[]int64{1, 2, 2, 4, 5}, checkAnswer{Rows: 3, Missing: 3, Extra: 1}},
		{nil, checkAnswer{Rows: 3, Extra: 3}},
	} {
		f.ids = c.ids
		got := must[checkAnswer](w, p, KindCheck, request)
		if got.Position == "" {
			t.Error("no position")
		}
		if got.Position = ""; got != c.want {
			t.Errorf("%v: %+v instead of %+v", c.ids, got, c.want)
		}
	}
	if changes < 4 {
		t.Errorf("%d changes", changes)
	}
	once := true
	f.ids = []int64{1, 2, 3, 10}
	f.during = func() {
		if once {
			f.commit(true, "a", 10)
		}
		once = false
	}
	if got := must[checkAnswer](w, p, KindCheck, request); got.Rows != 4 || got.Missing+got.Extra != 0 {
		t.Errorf("%+v", got)
	}
	next := int64(20)
	f.during = func() { next++; f.commit(true, "a", next) }
	if _, failed := ask[checkAnswer](w, p, KindCheck, request); failed == nil || failed.SQLState != "55000" {
		t.Errorf("%v", failed)
	}
}

// TestNoMirrors: with a limit of 0, all is read directly.
func TestNoMirrors(t *testing.T) {
	w := newWorld(t)
	w.sources.options.Limit = 0
	p := w.peer()
	if got := must[pinAnswer](w, p, KindPin, pinRequest(sourceOf(1), tableOf("a"))); !got.Tables[0].Direct || got.Tables[0].Hint == "" || len(w.opened[0].state) != 0 {
		t.Errorf("%s", got)
	}
	if _, failed := ask[mirrorAnswer](w, p, KindMirror, object{"source": sourceOf(1), "tables": []object{tableOf("a")}}); failed == nil {
		t.Error("MIRROR begins a mirror")
	}
}

// TestMalformed: what a request must not be.
func TestMalformed(t *testing.T) {
	w := newWorld(t)
	p := w.peer()
	good := pinRequest(sourceOf(1), tableOf("a"))
	for what, c := range map[string]struct {
		kind    Kind
		request object
		state   string
	}{
		"unknown kind":      {10, good, "08P01"},
		"unknown member":    {KindPin, with(good, secret, 1), "08P01"},
		"no source":         {KindPin, with(good, "source", nil), "08P01"},
		"no tables":         {KindSize, object{"source": sourceOf(1)}, "08P01"},
		"no name":           {KindPin, pinRequest(sourceOf(1), tableOf("")), "08P01"},
		"a long name":       {KindPin, pinRequest(sourceOf(1), tableOf(strings.Repeat("x", 300))), "08P01"},
		"a column's type":   {KindPin, pinRequest(sourceOf(1), tableOf("a", object{"name": "id"})), "08P01"},
		"a negative time":   {KindPin, with(good, "timeout_ms", -1), "08P01"},
		"no position":       {KindPin, with(good, "not_before", "x"), "08P01"},
		"no mapping":        {KindPin, pinRequest(sourceOf(0), tableOf("a")), "08P01"},
		"a text for a type": {KindPin, with(good, "mix", secret), "08P01"},
		"another encoding":  {KindPin, pinRequest(with(sourceOf(1), "database_encoding", "LATIN1"), tableOf("a")), "0A000"},
		"no server":         {KindClose, object{"mapping": 1}, "08P01"},
		"no token":          {KindUnpin, object{}, "08P01"},
		"no schema":         {KindImport, object{"source": sourceOf(1)}, "08P01"},
		"no columns":        {KindCheck, object{"source": sourceOf(1), "table": tableOf("a")}, "08P01"},
	} {
		if _, failed := ask[empty](w, p, c.kind, c.request); failed == nil || failed.SQLState != c.state {
			t.Errorf("%s: %v", what, failed)
		}
	}
	if len(w.opened) != 0 {
		t.Errorf("%d sessions", len(w.opened))
	}
}

// FuzzDecode: no request makes a panic, and no error repeats the options.
func FuzzDecode(f *testing.F) {
	for kind, r := range map[Kind]object{
		KindPin: pinRequest(sourceOf(1), tableOf("a")), KindClose: {"server": 1, "mapping": 0, "database": 3, "tables": []object{tableOf("a")}}, KindUnpin: {"token": "00"},
		KindImport: {"source": sourceOf(1), "schema": "public", "only": []string{"x"}},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint32(kind), text)
		f.Add(uint32(kind), text[:len(text)-9])
	}
	f.Fuzz(func(t *testing.T, kind uint32, body []byte) {
		r, err := decode(Kind(kind), body)
		if err != nil && strings.Contains(string(errorJSON(err)), secret) {
			t.Fatalf("an error has the password: %v", err)
		}
		if err == nil && (kind < 1 || kind > uint32(KindClose) || r.Timeout < 0) {
			t.Fatalf("%+v was accepted", r)
		}
	})
}
