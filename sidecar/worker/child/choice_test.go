package child

import (
	"fmt"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/device"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/multi"
	"gpujoin/testsupport/suite"
)

// sizes are a plan and its inputs by their sizes, whose values are not read.
type sizes struct {
	name    string
	ratio   int // probe rows for each build row
	columns [2]int
	kind    joincore.Kind
	groups  float64 // of each probe row; 0: rows are returned
	peerGB  float64
}

// plan returns the join of some probe rows. The result has as many.
func (s sizes) plan(probe int) (*joincore.Plan, []*joincore.Relation) {
	var inputs []*joincore.Relation
	p := &joincore.Plan{}
	for i, rows := range []int{max(probe/s.ratio, 1), probe} {
		columns := suite.Int64Columns(1 + s.columns[i])
		inputs = append(inputs, &joincore.Relation{Columns: columns, Segments: []joincore.Segment{{Rows: rows, Columns: make([]joincore.Vector, len(columns))}}})
		p.Inputs = append(p.Inputs, joincore.Input{Columns: columns})
		for c := range s.columns[i] {
			p.Output = append(p.Output, joincore.ColumnRef{Input: i, Column: 1 + c})
		}
	}
	join := &joincore.Join{
		Kind: s.kind, Left: &joincore.Scan{}, Right: &joincore.Scan{Input: 1}, Rows: float64(probe),
		Keys: []joincore.KeyPair{{Right: joincore.ColumnRef{Input: 1}, Class: joincore.KeyInt}},
	}
	p.Root = join
	if s.groups > 0 {
		p.Root = &joincore.Aggregate{
			ID: 2, Child: join, Rows: max(1, s.groups*float64(probe)), Keys: []joincore.Value{joincore.ColumnRef{Input: 1, Column: 1}},
			Functions: []joincore.Function{{Kind: joincore.Count}},
		}
		p.Output = []joincore.ColumnRef{{Input: 2}, {Input: 2, Column: 1}}
	}
	return p, inputs
}

// wide is a device of 72 GiB that holds build sides of columns of 8 bytes, and their partitions.
type wide struct{ device.Provider }

func (wide) Exceeds(builds ...*joincore.Relation) bool {
	bytes := int64(0)
	for _, r := range builds {
		bytes += r.Rows() * int64(8*len(r.Columns)+24)
	}
	return bytes > (72<<30)/16*9
}

// TestChoiceBySize: with the default rates of GPUs, a
// job gets further devices from some size on and keeps them at all larger ones, as long as the
// devices can hold what each of them reads whole; and every device pays.
func TestChoiceBySize(t *testing.T) {
	rates := &costmodel.DefaultDeviceRates
	for _, c := range []struct {
		sizes
		two, four, eight int // log2 of the least probe rows for so many devices of eight; 0: never
	}{
		{sizes{"equal sides", 1, [2]int{1, 1}, joincore.Inner, 0, 390}, 23, 25, 27},
		{sizes{"equal sides, no peers", 1, [2]int{1, 1}, joincore.Inner, 0, 0}, 24, 27, 0},
		{sizes{"a build side of a sixteenth", 16, [2]int{1, 1}, joincore.Inner, 0, 390}, 23, 25, 27},
		{sizes{"a build side of a sixteenth, no peers", 16, [2]int{1, 1}, joincore.Inner, 0, 0}, 24, 25, 27},
		{sizes{"keys alone", 1, [2]int{}, joincore.Inner, 0, 390}, 25, 26, 28},
		{sizes{"many columns", 1, [2]int{8, 8}, joincore.Inner, 0, 390}, 21, 22, 24},
		{sizes{"a wide dimension", 64, [2]int{16, 1}, joincore.Inner, 0, 390}, 21, 23, 24},
		{sizes{"few groups", 4, [2]int{1, 1}, joincore.Inner, 1e-9, 390}, 24, 26, 27},
		{sizes{"a group for 1,000 rows", 4, [2]int{1, 1}, joincore.Inner, 0.001, 390}, 25, 0, 0},
		{sizes{"a group for 100 rows", 4, [2]int{1, 1}, joincore.Inner, 0.01, 390}, 0, 0, 0},
		{sizes{"a group for 10 rows", 4, [2]int{1, 1}, joincore.Inner, 0.1, 390}, 0, 0, 0},
		{sizes{"a group for each row", 4, [2]int{1, 1}, joincore.Inner, 1, 390}, 0, 0, 0},
		{sizes{"left join", 4, [2]int{1, 1}, joincore.Left, 0, 390}, 24, 25, 27},
		{sizes{"right join", 4, [2]int{1, 1}, joincore.Right, 0, 390}, 23, 25, 27},
		{sizes{"full join", 4, [2]int{1, 1}, joincore.Full, 0, 390}, 0, 0, 0},
	} {
		for idle := 2; idle <= 8; idle++ {
			t.Run(fmt.Sprintf("%s/%d", c.name, idle), func(t *testing.T) {
				m, list := machine(idle)
				m.Jobs = JobDevices{PeerGB: c.peerGB}
				for i := range m.Devices {
					m.Devices[i].Provider = wide{cpu.New()}
				}
				before, first := 1, map[int]int{}
				for bits := 10; bits <= 32; bits++ {
					unchecked, inputs := c.plan(1 << bits)
					plan := suite.Checked(t, unchecked)
					n := len(m.choose(plan, inputs, list).devices)
					divided, ok := multi.Divide(plan, inputs)
					fits := ok && multi.Holds(wide{}, inputs, divided)
					if n < before && fits {
						t.Errorf("2^%d rows: %d devices, and %d for half the rows", bits, n, before)
					}
					for k := 2; k <= n; k *= 2 {
						if _, known := first[k]; !known {
							first[k] = bits
						}
					}
					if n > 1 {
						one := exec.PredictDevice(plan, inputs, rates, nil)
						several := exec.PredictDevices(plan, inputs, exec.Spread{Devices: n, Divided: []int{divided}, PeerGB: c.peerGB}, rates)
						if !fits || several > pays(1, n)*one {
							t.Errorf("2^%d rows: %d devices, %.1f ms on one, %.1f on all", bits, n, one, several)
						}
					}
					before = n
				}
				for k, want := range map[int]int{2: c.two, 4: c.four, 8: c.eight} {
					if idle == 8 && first[k] != want {
						t.Errorf("%d devices from 2^%d rows on, want 2^%d", k, first[k], want)
					}
				}
			})
		}
	}
}

// remembering is a device that has some contents.
type remembering struct {
	columnKeeper
	wide
	has   func(content uint64) bool
	limit int64
}

func (r remembering) Holds(content uint64) bool { return r.has(content) }
func (r remembering) ResidentLimit() int64      { return r.limit }

// TestChoiceOfKeptColumns: where columns stay on devices, a second device must be worth its start;
// that a first job would be uploaded sooner by two, or that two have halves of it, does not count
// as if each job uploaded it.
func TestChoiceOfKeptColumns(t *testing.T) {
	const segments = 64
	for _, c := range []struct {
		name  string
		rows  int
		limit int64
		has   func(device int, content uint64) bool
		want  int
	}{
		{"few rows, on one", 1 << 24, 1 << 36, func(d int, _ uint64) bool { return d == 0 }, 1},
		{"few rows, on both", 1 << 24, 1 << 36, func(int, uint64) bool { return true }, 1},
		{"few rows, a half on each", 1 << 24, 1 << 36, func(d int, content uint64) bool { return int(content)%2 == d }, 1},
		{"few rows, on none", 1 << 22, 1 << 36, func(int, uint64) bool { return false }, 1},
		{"more than stays, on none", 1 << 26, 1 << 28, func(int, uint64) bool { return false }, 2},
		{"as much as stays, on none", 1 << 26, 1 << 36, func(int, uint64) bool { return false }, 1},
		{"many rows, on none", 1 << 30, 1 << 36, func(int, uint64) bool { return false }, 2},
		{"many rows, a half on each", 1 << 30, 1 << 36, func(d int, content uint64) bool { return int(content)%2 == d }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, list := machine(2)
			m.Jobs = JobDevices{PeerGB: 390}
			for i := range m.Devices {
				m.Devices[i].Provider = remembering{wide: wide{cpu.New()}, limit: c.limit, has: func(content uint64) bool { return c.has(i, content) }}
			}
			unchecked, inputs := sizes{ratio: 4, columns: [2]int{1, 1}, kind: joincore.Inner, groups: 1e-9}.plan(c.rows)
			for _, r := range inputs {
				rows := int(r.Rows()) / segments
				r.Segments = nil
				for i := range segments {
					columns := make([]joincore.Vector, len(r.Columns))
					for j := range columns {
						columns[j].Content = uint64(1 + i)
					}
					r.Segments = append(r.Segments, joincore.Segment{Rows: rows, Columns: columns})
				}
			}
			if got := m.choose(suite.Checked(t, unchecked), inputs, list).devices; len(got) != c.want {
				t.Errorf("%d devices, want %d", len(got), c.want)
			}
		})
	}
}
