package cuda

import (
	"errors"
	"strings"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
)

// exchangeOf describes a join of two inputs of some rows of two columns of 8 bytes.
func exchangeOf(left, right int) *device.Exchange {
	column := joincore.Column{Kind: joincore.Fixed, Width: 8, Align: 8}
	x := &device.Exchange{Inputs: [2]int{0, 1}, Columns: [2][]int{{0, 1}, {0, 1}}, Result: int64(max(left, right))}
	for side, rows := range []int{left, right} {
		x.Rows[side] = &joincore.Relation{Columns: []joincore.Column{column, column}, Segments: []joincore.Segment{{Rows: rows, Columns: make([]joincore.Vector, 2)}}}
	}
	return x
}

// A device needs memory for its share of the rows and of the result, and for inputs that it reads whole.
// The more devices there are, the less does each need.
func TestMemoryOfATeam(t *testing.T) {
	const rows = 1 << 28
	share := func(members int64) int64 { return columnar.Bound(2*16*rows/members, 2*rows/members, 32*rows/members) }
	x := exchangeOf(rows, rows)
	for _, members := range []int64{2, 3, 4, 8} {
		need := share(members)
		if err := checkTeamMemory(x, int(members), need+1<<10, false); err != nil {
			t.Error(err)
		}
		if err := checkTeamMemory(x, int(members), need-1<<20, false); !errors.Is(err, joincore.ErrBudget) || !strings.Contains(err.Error(), "MB") {
			t.Errorf("%d members: %v", members, err)
		}
		sent := int64(2 * 16 * rows / members * (members - 1) / members)
		if checkTeamMemory(x, int(members), need+sent-1<<20, true) == nil || checkTeamMemory(x, int(members), need+sent+1<<20, true) != nil {
			t.Errorf("%d members: rows that pass through the memory of the host do not stay on the device", members)
		}
	}
	x.Whole = []*joincore.Relation{exchangeOf(1<<20, 0).Rows[0]}
	whole := int64((16 + 24) << 20)
	if checkTeamMemory(x, 2, share(2)+whole/2, false) == nil || checkTeamMemory(x, 2, share(2)+whole+1<<10, false) != nil {
		t.Error("the input that is read whole does not count")
	}
	nullable := exchangeOf(rows, rows)
	nullable.Rows[0].Segments[0].Columns[1].Validity = []byte{}
	if checkTeamMemory(nullable, 2, share(2)+1<<20, false) == nil {
		t.Error("whether a value is there takes no memory")
	}
	if err := checkTeamMemory(exchangeOf(8<<30, 1), 2, 1<<62, false); !errors.Is(err, joincore.ErrUnsupported) {
		t.Errorf("more rows than a device numbers: %v", err)
	}
	huge := exchangeOf(rows, rows)
	huge.Result = 1 << 48
	if err := checkTeamMemory(huge, 2, 1<<62, false); !errors.Is(err, joincore.ErrBudget) {
		t.Errorf("a huge result: %v", err)
	}
}

// Of one table, a device needs memory for its share of the build rows, of slots and of links, and leaves a quarter
// for probes, however long the probe side is.
func TestMemoryOfATable(t *testing.T) {
	const rows = 1 << 28
	x := exchangeOf(1<<36, rows)
	x.Build = 1
	for _, members := range []int64{2, 3, 4, 8} {
		need := (rows + members - 1) / members * (16 + 14*4/3)
		if err := checkSpreadMemory(x, int(members), need+rows/members); err != nil {
			t.Error(err)
		}
		if err := checkSpreadMemory(x, int(members), need-1<<20); !errors.Is(err, joincore.ErrBudget) || !strings.Contains(err.Error(), "MB") {
			t.Errorf("%d members: %v", members, err)
		}
	}
	x.Whole = []*joincore.Relation{exchangeOf(1<<20, 0).Rows[0]}
	if need := int64(rows / 2 * (16 + 14*4/3)); checkSpreadMemory(x, 2, need+rows/2) != nil || checkSpreadMemory(x, 2, need) == nil {
		t.Error("the input that is read whole does not count")
	}
	for name, c := range map[string]struct {
		rows    int
		members int
	}{"more rows than slots": {1<<31 + 1, 8}, "more devices than a table has": {1, 9}} {
		if err := checkSpreadMemory(exchangeOf(c.rows, 1<<40), c.members, 1<<62); !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkSpreadMemory(exchangeOf(0, 0), 8, 1<<20); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// Of a hybrid table, a device needs memory for its share of the build rows and of links; slots that exceed the memory of the devices lie on
// the host. One device is enough.
func TestMemoryOfAHybridTable(t *testing.T) {
	const rows = 1 << 28
	x := exchangeOf(1<<16, rows)
	x.Build = 1
	for _, members := range []int64{1, 2, 3, 8} {
		columns := (rows + members - 1) / members * (16 + 4*4/3)
		memory := columns/7*8 + rows/members/2 // an eighth is left
		if err := checkHybridMemory(x, int(members), memory, 10*rows); err != nil {
			t.Error(err)
		}
		if err := checkHybridMemory(x, int(members), memory-rows/members, 10*rows); !errors.Is(err, joincore.ErrBudget) || !strings.Contains(err.Error(), "build side") {
			t.Errorf("%d members: %v", members, err)
		}
		left := int64(10*rows) - members*(memory-columns)/4*3
		if err := checkHybridMemory(x, int(members), memory, left+rows); err != nil {
			t.Errorf("%d members: %v", members, err)
		}
		if err := checkHybridMemory(x, int(members), memory, left-rows); !errors.Is(err, joincore.ErrBudget) || !strings.Contains(err.Error(), "the host may lock") {
			t.Errorf("%d members: %v", members, err)
		}
		all := columns + rows/members*10*4/3
		if err := checkHybridMemory(x, int(members), all+1<<28, 0); err != nil {
			t.Errorf("%d members that have memory for all: %v", members, err)
		}
		large := exchangeOf(1<<26, rows) // as one window
		large.Build = 1
		if err := checkHybridMemory(large, int(members), memory, 10*rows); !errors.Is(err, joincore.ErrBudget) {
			t.Errorf("%d members without memory for windows: %v", members, err)
		}
	}
	for name, c := range map[string]struct {
		rows    int
		members int
	}{"more rows than slots": {1<<31 + 1, 8}, "more devices than a table has": {1, 9}} {
		if err := checkHybridMemory(exchangeOf(c.rows, 1<<40), c.members, 1<<62, 1<<62); !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Rows of different columns, or of columns that may be NULL on one device only, are no rows of one join.
func TestAlike(t *testing.T) {
	ref := joincore.ColumnRef{Input: 1, Column: 2}
	values, valid := movedColumn{rowid.PayloadValues, ref, 8}, movedColumn{rowid.PayloadValidity, ref, 1}
	for name, c := range map[string]struct {
		payload [][]movedColumn
		alike   bool
	}{
		"nothing":            {[][]movedColumn{nil, nil}, true},
		"the same":           {[][]movedColumn{{values, valid}, {values, valid}, {values, valid}}, true},
		"NULL on one":        {[][]movedColumn{{values, valid}, {values, valid}, {values}}, false},
		"another width":      {[][]movedColumn{{values}, {{rowid.PayloadValues, ref, 4}}}, false},
		"another column":     {[][]movedColumn{{values}, {{rowid.PayloadValues, joincore.ColumnRef{Input: 1}, 8}}}, false},
		"row ids on one":     {[][]movedColumn{{values}, {{rowid.PayloadRowIDs, ref, 8}}}, false},
		"nothing on another": {[][]movedColumn{{values}, nil}, false},
	} {
		if err := checkAlike(c.payload); (err == nil) != c.alike || err != nil && !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What devices exchange: pairs by exact keys, of a probe side that comes at once, with all values that
// are read later.
func TestWhatATeamJoins(t *testing.T) {
	key := &device.Key{Exact: true, Parts: []device.KeyPart{{Class: joincore.KeyInt, Bits: 64}}}
	spec := device.JoinSpec{Match: device.Match{Build: key, Probe: key, Emit: device.Pairs}, ProbeOnce: true}
	if why := unfitForTeam(&spec); why != "" {
		t.Error(why)
	}
	for name, change := range map[string]func(*device.JoinSpec){
		"its probe side is a result": func(s *device.JoinSpec) { s.ProbeOnce = false },
		"it is not an inner join":    func(s *device.JoinSpec) { s.Emit = device.Semi },
		"its keys have more than 8":  func(s *device.JoinSpec) { s.Build = &device.Key{Parts: key.Parts} },
	} {
		own := spec
		change(&own)
		if why := unfitForTeam(&own); !strings.HasPrefix(why, name) {
			t.Errorf("%s: %q", name, why)
		}
	}
	parts := spec
	if parts.ProbeOnce = false; unfitForSpread(&parts) != "" {
		t.Errorf("a probe side that comes in parts: %s", unfitForSpread(&parts))
	}
	if parts.Emit = device.Semi; unfitForSpread(&parts) == "" {
		t.Error("a semi-join has one table")
	}
	a, b := joincore.ColumnRef{Column: 1}, joincore.ColumnRef{Column: 2}
	late := device.Keep{Columns: []joincore.ColumnRef{a}, Late: []joincore.ColumnRef{b}, Inputs: []int{0}}
	for _, width := range []int{8, 24} {
		x := exchangeOf(1, 1)
		x.Rows[0].Columns[1].Width = width
		if k := travelling(x, late); len(k.Columns) != 2 || k.Columns[1] != b || k.Late != nil || (len(k.Inputs) == 1) != (width == 24) {
			t.Errorf("%d bytes: %+v", width, k)
		}
	}
	for of, want := range map[string]string{"phj-om": "phj-om+exchange", "phj-pack/om+bypass": "phj-pack/om+exchange+bypass"} {
		if name := exchangedBy(of); name != want || !joincore.PHJOM.Executed(name) && of == "phj-om" {
			t.Errorf("%s was exchanged by %s", of, name)
		}
	}
}

// Values that are fetched by row id are those of fewer rows than ids tell apart. Devices need memory for
// columns of which they fetch values themselves, if rows of others take their ids along.
func TestWhatIsFetchedByRowID(t *testing.T) {
	const rows = 1 << 20
	x := exchangeOf(rows, rows)
	if err := checkNumbers(x); err != nil || fetchedBytes(x) != 0 {
		t.Errorf("%v, %d bytes", err, fetchedBytes(x))
	}
	x.ByID[0] = []int{1}
	if n := fetchedBytes(x); n != 9*rows {
		t.Errorf("%d bytes of numbers", n)
	}
	if x.Spread = true; fetchedBytes(x) != 9*rows {
		t.Error("build rows do not take their ids along")
	}
	if x.Build = 1; fetchedBytes(x) != 0 {
		t.Error("probe rows leave their device")
	}
	text := exchangeOf(rows, 1<<33)
	text.Rows[0].Columns[1] = joincore.Column{Kind: joincore.Varlena, Align: 4}
	text.Rows[0].Segments[0].Columns[1].Heap = make([]byte, 1000)
	text.ByID[0] = []int{1}
	if n := fetchedBytes(text); n != 21*rows+1000 {
		t.Errorf("%d bytes of texts", n)
	}
	if err := checkNumbers(text); err != nil {
		t.Errorf("texts of few rows: %v", err)
	}
	for of, change := range map[string]func(*device.Exchange){
		"wide values": func(x *device.Exchange) { x.Rows[1].Columns[1].Width = 24 },
		"texts":       func(x *device.Exchange) { x.Rows[1].Columns[1] = text.Rows[0].Columns[1] },
		"carried":     func(x *device.Exchange) { x.ByID[1] = []int{0} },
	} {
		many := exchangeOf(1, 1<<32)
		change(many)
		if err := checkNumbers(many); !errors.Is(err, joincore.ErrUnsupported) {
			t.Errorf("%s of more rows than ids tell apart: %v", of, err)
		}
		if many.Spread = true; checkNumbers(many) != nil { // the probe side
			t.Errorf("%s of rows that stay on their device: %v", of, checkNumbers(many))
		}
	}
}
