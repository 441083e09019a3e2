package kept

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// fineSteps and coarseSteps are the numbers of steps of a seed without and with coarse ones.
const (
	fineSteps   = 2400
	coarseSteps = 400
)

// model is one run: all that happens follows from its seed.
type model struct {
	rnd     *rand.Rand
	p       *pg
	s       *Store
	limit   int64
	broken  broken
	readers []*reader
	late    []func() // messages of sessions that have gone on or ended since

	// How often things happen, of 100 steps or relative to each other. Some faults need things
	// that are rare otherwise, such as crashes that lose much.
	flushes, hurry int
	coarse         int // steps that do much without interruption
	rare           []func()
	writes, begins int // change during a run: pages become all-visible in quiet times
}

func newModel(seed uint64, b broken, counts *[3]int) *model {
	rnd := rand.New(rand.NewPCG(seed, 1))
	m := &model{rnd: rnd, p: newPG(rnd), limit: []int64{1 << 20, 1 << 20, 40 << 10}[rnd.IntN(3)], broken: b}
	m.s = New(&heap{size: 1 << 10}, Options{Limit: m.limit})
	for range 3 {
		m.readers = append(m.readers, &reader{model: m, p: m.p, s: m.s, rnd: rnd, broken: b, counts: counts})
	}
	m.flushes, m.hurry, m.coarse = 1+rnd.IntN(4), 1+rnd.IntN(3), []int{0, 30, 60, 90}[rnd.IntN(4)]
	for _, f := range []func(){m.p.rewrite, m.p.truncate, m.crash, m.cancel, func() { m.s.Shrink(1 + rnd.Int64N(4<<10)) }} {
		for range rnd.IntN(4) {
			m.rare = append(m.rare, f)
		}
	}
	return m
}

// runModel executes one seed: some step of some session, of VACUUM, of a DBA or of the store's
// worker after the other. It returns the first wrong result.
func runModel(seed uint64, b broken, counts *[3]int) error {
	m := newModel(seed, b, counts)
	steps := fineSteps
	if m.coarse > 0 {
		steps = coarseSteps
	}
	for step := range steps {
		if step%(steps/8) == 0 {
			m.writes, m.begins = []int{0, 0, 1, 3, 12}[m.rnd.IntN(5)], 1+m.rnd.IntN(8)
		}
		m.step()
		for _, r := range m.readers {
			if r.wrong != nil {
				return fmt.Errorf("seed %d, step %d, %+v: %w", seed, step, m.p.pgConfig, r.wrong)
			}
		}
		if held := m.s.Counters().Bytes; held > m.limit {
			return fmt.Errorf("seed %d, step %d: %d bytes are held of %d", seed, step, held, m.limit)
		}
	}
	return nil
}

func (m *model) step() {
	if m.rnd.IntN(100) < m.coarse {
		m.coarseStep()
		return
	}
	switch n := m.rnd.IntN(100); {
	case n < m.writes:
		m.p.write()
	case n < 68:
		if r := m.readers[m.rnd.IntN(len(m.readers))]; r.step != nil || m.rnd.IntN(8) < m.begins {
			r.queryStep()
		}
	case n < 84:
		m.p.vacuum()
	case n < 92:
		m.s.step()
		if m.broken.mixed {
			mixVersions(m.s)
		}
	case n < 94:
		if len(m.late) > 0 {
			i := m.rnd.IntN(len(m.late))
			m.late[i]()
			m.late = slices.Delete(m.late, i, i+1)
		}
	case n < 94+m.flushes:
		m.p.flushed += m.rnd.Uint64N(m.p.lsn - m.p.flushed + 1)
	case n >= 98 && len(m.rare) > 0 && m.rnd.IntN(12) < m.hurry:
		m.rare[m.rnd.IntN(len(m.rare))]()
	}
}

// coarseStep does without interruption what takes many steps. Some faults need a few such
// things one after the other.
func (m *model) coarseStep() {
	switch m.rnd.IntN(18) {
	case 0, 1, 2, 3:
		m.query(1000)
	case 4, 5, 6:
		m.transaction()
	case 7, 8, 9, 10:
		m.vacuum()
	case 11, 12:
		m.s.Drain()
	case 13:
		m.p.flushed = m.p.lsn
	case 14:
		if len(m.rare) > 0 {
			m.rare[m.rnd.IntN(len(m.rare))]()
		}
	case 15:
		for _, f := range m.late {
			f()
		}
		m.late = nil
	case 16: // a query sees what a crash undoes
		m.vacuum()
		m.query(1000)
		m.s.Drain()
		m.crash()
	case 17: // a query is cancelled
		if r := m.query(m.rnd.IntN(40)); r.lease != nil {
			r.cancel()
		}
	}
	if m.broken.mixed {
		mixVersions(m.s)
	}
}

// query executes some steps of a query of a session that has none.
func (m *model) query(steps int) *reader {
	r := m.readers[m.rnd.IntN(len(m.readers))]
	if r.step != nil {
		return r
	}
	for r.queryStep(); r.step != nil && r.wrong == nil && steps > 0; steps-- {
		r.queryStep()
	}
	return r
}

func (m *model) transaction() {
	xid := m.p.begin()
	for range 1 + m.rnd.IntN(2) {
		if m.rnd.IntN(2) == 0 {
			m.p.insert(xid)
		} else {
			m.p.remove(xid)
		}
	}
	m.p.commit(xid, m.rnd.IntN(4) > 0)
}

func (m *model) vacuum() {
	for range 4 * len(m.p.heap) {
		m.p.vacuum()
	}
	if m.rnd.IntN(3) == 0 {
		m.p.flushed = m.p.lsn
	}
}

// crash loses what is not on disk, and all sessions.
func (m *model) crash() {
	m.p.crash()
	for _, r := range m.readers {
		r.crash()
	}
}

// cancel ends a session's transaction.
func (m *model) cancel() {
	if r := m.readers[m.rnd.IntN(len(m.readers))]; r.lease != nil {
		r.cancel()
	}
}

// seeds is how many seeds the model tries: GPUJOIN_MODEL_SEEDS, for longer runs.
func seeds(t *testing.T, n uint64) uint64 {
	if text := os.Getenv("GPUJOIN_MODEL_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return n
}

func TestModelFindsNothingWrong(t *testing.T) {
	var counts [3]int
	n := seeds(t, 400)
	for seed := range n {
		if err := runModel(seed, broken{}, &counts); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d seeds: blocks served by level 1: %d, by level 2: %d, fed: %d", n, counts[0], counts[1], counts[2])
	for i, c := range counts {
		if uint64(c) < n {
			t.Errorf("only %d blocks of kind %d in %d seeds: the model tests little", c, i, n)
		}
	}
}

// Each case says at which seed the search begins, so that it is short; it goes on from there
// when a change of the model or the store makes seeds mean something else.
func TestModelFindsEachBrokenRule(t *testing.T) {
	for _, c := range []struct {
		rule string
		broken
		seed uint64
	}{
		{"level 1 is only for the VM LSN of the proof", broken{anyVM: true}, 3},
		{"a block is served only if its bit is set", broken{anyBit: true}, 5},
		{"level 2 compares the LSN of the page", broken{anyPage: true}, 3},
		{"a captured page is marked all-visible", broken{noFlag: true}, 35},
		{"a captured page is compared after its tuples were collected", broken{flagBefore: true}, 1778},
		{"a captured page is on disk", broken{unflushedPage: true}, 3},
		{"the VM LSN of a proof is on disk", broken{unflushedVM: true}, 1037},
		{"the VM is read after the snapshot was taken", broken{vmBeforeSnapshot: true}, 14},
		{"another file is another table", broken{noFile: true}, 440},
		{"a proof counts only for its own VM LSN", broken{lateProof: true}, 2542},
		{"columns are from the same version of a page", broken{mixed: true}, 3},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			var counts [3]int
			if err := runModel(c.seed, broken{}, &counts); err != nil {
				t.Fatalf("with the rule: %v", err)
			}
			for seed := range seeds(t, 20000) {
				if err := runModel(c.seed+seed, c.broken, &counts); err != nil {
					t.Logf("found: %v", err)
					return
				}
			}
			t.Error("the model finds nothing wrong without this rule")
		})
	}
}
