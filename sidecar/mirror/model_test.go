package mirror

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"gpujoin/joincore"
)

// model is one run: all that happens follows from its seed. Steps of the source, of the stream,
// of loading tables, of readers and of rewriting follow each other in any order.
type model struct {
	rnd    *rand.Rand
	source *modelSource
	memory *heap
	s      *Server
	broken broken
	counts *modelCounts

	next     int // transaction that the stream delivers, or begins with
	change   int // of it that comes next; -1: it has not begun
	loads    map[uint32]*modelLoad
	pins     []*modelPin
	rewrite  *rewriting
	copied   bool
	excuse   map[uint32]bool // tables that were failed on purpose, or for want of memory
	position LSN

	weights [6]int
}

type modelCounts struct{ read, notReady, rewritten, joined, late, aborted, repeated int }

// modelLoad is a table that loads.
type modelLoad struct {
	l    *Loading
	rows []record // that are left to load
	next int      // transaction of the synchronisation stream
	at   LSN
}

type modelPin struct {
	p        *Pin
	position LSN
	ready    map[uint32]bool // whether it sees a table, once that was asked
	taken    []taken
}

// taken is a relation that a pin has returned, and what was in it.
type taken struct {
	relation joincore.Relation
	columns  []int
	rows     []string
}

func newModel(seed uint64, b broken, counts *modelCounts) *model {
	rnd := rand.New(rand.NewPCG(seed, 7))
	m := &model{rnd: rnd, source: newModelSource(rnd, 1+rnd.IntN(3)), memory: &heap{size: []int64{512, 1024, 4096}[rnd.IntN(3)]}, broken: b, counts: counts,
		next: 1, change: -1, loads: map[uint32]*modelLoad{}, excuse: map[uint32]bool{}}
	if rnd.IntN(4) == 0 {
		m.memory.most = 8 + rnd.IntN(40)
	}
	for i, most := range []int{12, 12, 6, 12, 12, 2} {
		m.weights[i] = 1 + rnd.IntN(most)
	}
	for range rnd.IntN(40) {
		m.source.transact()
	}
	m.s = New(m.memory, Options{})
	return m
}

// runModel executes one seed. It returns the first wrong result.
func runModel(seed uint64, b broken, counts *modelCounts) (err error) {
	m := newModel(seed, b, counts)
	defer func() {
		// A broken rule may end in an inconsistent state before it shows in a result.
		if r := recover(); r != nil && b != (broken{}) {
			err = fmt.Errorf("seed %d: panic: %v", seed, r)
		} else if r != nil {
			panic(r)
		}
	}()
	for step := range 1000 {
		if err := m.step(); err != nil {
			return fmt.Errorf("seed %d, step %d: %w", seed, step, err)
		}
	}
	return m.end()
}

func (m *model) step() error {
	total := 0
	for _, w := range m.weights {
		total += w
	}
	n := m.rnd.IntN(total)
	for i, f := range []func() error{m.write, m.deliver, m.load, m.read, m.rewriteStep, m.rare} {
		if n -= m.weights[i]; n < 0 {
			return f()
		}
	}
	return nil
}

func (m *model) write() error {
	m.source.transact()
	return nil
}

// deliver delivers a message of the main stream.
func (m *model) deliver() error {
	for range 1 + m.rnd.IntN(16) {
		if err := m.message(); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) message() error {
	if m.next == len(m.source.history) {
		m.s.Received(m.source.wal)
		return m.moved()
	}
	c := &m.source.history[m.next]
	switch {
	case m.change < 0 && m.rnd.IntN(4) == 0:
		m.s.Received(c.final - 1) // everything before it has been delivered
		return m.moved()
	case m.change < 0:
		m.change = 0
		if c.final < m.s.Position() {
			m.counts.repeated++
		}
		if err := m.s.Transact(c.final); err != nil {
			return err
		}
		m.broken.begun(m.s)
	case m.change < len(c.changes):
		change := c.changes[m.change].encoded()
		m.change++
		m.broken.change(&change)
		if m.rnd.IntN(8) == 0 {
			m.s.Received(c.end) // of a transaction that is not complete
			m.broken.keepalive(m.s, c.end)
		}
		if m.s.tables[change.Table] == nil {
			return nil // never loaded; the stream's caller does not know it either
		}
		if err := m.s.Change(&change); err != nil {
			if err := m.failed(change.Table, err); err != nil {
				return err
			}
		}
		m.broken.changed(m.s)
	default:
		m.next, m.change = m.next+1, -1
		if err := m.s.Commit(c.end, time.Unix(int64(c.end), 0)); err != nil {
			return err
		}
		m.broken.committed(m.s)
	}
	return m.moved()
}

// moved checks that the position never goes back.
func (m *model) moved() error {
	if at := m.s.Position(); at < m.position {
		return fmt.Errorf("the position goes from %d to %d", m.position, at)
	} else {
		m.position = at
	}
	return nil
}

// failed judges the failure of a table: only want of memory excuses one.
func (m *model) failed(table uint32, err error) error {
	if errors.Is(err, ErrMemory) && m.memory.most > 0 {
		m.excuse[table] = true
		return nil
	}
	return fmt.Errorf("table %d: %w", table, err)
}

// cutOff ends the stream, which begins again some transactions before.
func (m *model) cutOff() {
	if m.change >= 0 {
		m.counts.aborted++
	}
	m.broken.abort(m.s)
	m.change = -1
	m.next = max(1, m.next-m.rnd.IntN(3))
}

func (m *model) load() error {
	for range 1 + m.rnd.IntN(12) {
		if err := m.loadTable(m.source.tables[m.rnd.IntN(len(m.source.tables))]); err != nil {
			return err
		}
	}
	return nil
}

// loadTable goes on with the load of a table, or begins one.
func (m *model) loadTable(table uint32) error {
	l := m.loads[table]
	switch t := m.s.tables[table]; {
	case l == nil && (t == nil || t.state == StateFailed):
		if t != nil && !m.excuse[table] {
			return fmt.Errorf("table %d has failed: %w", table, t.err)
		}
		delete(m.excuse, table)
		l, err := m.s.Begin(testTable(table))
		if err != nil {
			return err
		}
		n := m.rnd.IntN(len(m.source.history)) // of the snapshot
		load := &modelLoad{l: l, next: n + 1, at: m.source.history[n].end}
		for _, r := range m.source.history[n].after[table] {
			load.rows = append(load.rows, r)
		}
		slices.SortFunc(load.rows, func(a, b record) int { return int(a.id - b.id) })
		m.loads[table] = load
		return nil
	case l == nil:
		return nil
	}
	err := m.loadStep(table, l)
	if err != nil && errors.Is(err, ErrMemory) && m.memory.most > 0 {
		delete(m.loads, table)
		m.excuse[table] = true
		return nil
	}
	return err
}

func (m *model) loadStep(table uint32, l *modelLoad) error {
	switch {
	case len(l.rows) > 0:
		n := 1 + m.rnd.IntN(min(20, len(l.rows)))
		rows, columns := batchOf(l.rows[:n]...)
		l.rows = l.rows[n:]
		return l.l.Batch(rows, columns)
	case l.next < len(m.source.history) && (l.at < m.s.Position() || m.rnd.IntN(3) > 0):
		c := &m.source.history[l.next]
		l.next++
		l.at = c.end
		for i := range c.changes {
			if c.changes[i].table != table {
				continue
			}
			change := c.changes[i].encoded()
			m.broken.change(&change)
			if err := l.l.Change(&change); err != nil {
				return err
			}
		}
		return nil
	}
	err := m.broken.join(m.s, l.l, l.at)
	if errors.Is(err, ErrLate) {
		m.counts.late++
		return nil
	}
	delete(m.loads, table)
	m.counts.joined++
	return err
}

func (m *model) read() error {
	if len(m.pins) < 5 && m.rnd.IntN(3) == 0 {
		p := m.s.Pin()
		if p.Position() > m.s.Position() || p.Position() < m.position {
			return fmt.Errorf("a pin at %d, the server is at %d", p.Position(), m.position)
		}
		m.pins = append(m.pins, &modelPin{p: p, position: p.Position(), ready: map[uint32]bool{}})
	}
	if len(m.pins) == 0 {
		return nil
	}
	i := m.rnd.IntN(len(m.pins))
	p := m.pins[i]
	if m.rnd.IntN(3) == 0 {
		p.p.Close()
		m.pins = slices.Delete(m.pins, i, i+1)
		return nil
	}
	for i := range p.taken {
		t := &p.taken[i]
		if got, err := readRows(t.relation, t.columns); err != nil || !slices.Equal(got, t.rows) {
			return fmt.Errorf("a relation at %d has changed: %v, %w", p.position, got, err)
		}
	}
	for _, table := range m.source.tables {
		if err := m.check(p, table); err != nil {
			return err
		}
	}
	return nil
}

// check compares what a pin sees of a table with what the source had at that position.
func (m *model) check(p *modelPin, table uint32) error {
	columns := [][]int{{0, 1, 2}, {2, 1}, {1}, {0}, {2, 0}}[m.rnd.IntN(5)]
	if m.rnd.IntN(2) == 0 {
		columns = allColumns
	}
	relation, err := p.p.Relation(table, columns)
	if errors.Is(err, ErrNotReady) {
		m.counts.notReady++
		if t := m.s.tables[table]; p.ready[table] && t.state == StateReady && t.from <= p.p.commit {
			return fmt.Errorf("a pin at %d sees table %d no longer", p.position, table)
		}
		return nil
	}
	if err != nil {
		return err
	}
	p.ready[table] = true
	m.counts.read++
	m.broken.taken(p.p)
	got, err := readRows(relation, columns)
	if err != nil {
		return err
	}
	p.taken = append(p.taken, taken{relation, columns, got})
	want := m.source.want(table, p.position)
	if len(columns) < 3 {
		if len(got) != len(want) {
			return fmt.Errorf("table %d at %d: %d rows, want %d", table, p.position, len(got), len(want))
		}
		return nil
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("table %d at %d:\n%v, want\n%v", table, p.position, got, want)
	}
	return nil
}

func (m *model) rewriteStep() error {
	switch {
	case m.rewrite == nil:
		m.rewrite, m.copied = m.broken.plan(m.s), false
	case !m.copied:
		if m.rewrite.copy() != nil {
			m.rewrite.giveUp()
			m.rewrite = nil
		}
		m.copied = true
	default:
		m.counts.rewritten++
		table := m.rewrite.table
		m.broken.finish(m.s, m.rewrite)
		m.rewrite = nil
		if m.s.tables[table.OID] == table && table.state == StateFailed && !m.excuse[table.OID] {
			return fmt.Errorf("table %d has failed: %w", table.OID, table.err)
		}
	}
	return nil
}

func (m *model) rare() error {
	switch m.rnd.IntN(6) {
	case 0:
		m.cutOff()
	case 1:
		table := m.source.tables[m.rnd.IntN(len(m.source.tables))]
		if m.rnd.IntN(4) == 0 && m.loads[table] == nil && m.s.tables[table] != nil {
			m.excuse[table] = true
			m.s.Fail(table, errors.New("for the model"))
		}
	case 2:
		for table, l := range m.loads {
			l.l.Cancel(errors.New("for the model"))
			delete(m.loads, table)
			m.excuse[table] = true
		}
	}
	return nil
}

// end checks that all memory comes back.
func (m *model) end() error {
	for _, p := range m.pins {
		for _, table := range m.source.tables {
			if err := m.check(p, table); err != nil {
				return err
			}
		}
		p.p.Close()
	}
	if m.rewrite != nil {
		if m.copied || m.rewrite.copy() == nil {
			m.s.finish(m.rewrite)
		} else {
			m.rewrite.giveUp()
		}
	}
	for _, l := range m.loads {
		l.l.Cancel(errors.New("the end"))
	}
	m.s.Abort()
	for _, table := range m.source.tables {
		if err := m.s.Drop(table); err != nil {
			return err
		}
	}
	if extents, besides := m.s.Bytes(); m.memory.live != 0 || extents != 0 || besides != 0 {
		return fmt.Errorf("%d extents of %d bytes, and %d bytes beside them are left", m.memory.live, extents, besides)
	}
	return nil
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
	var c modelCounts
	n := seeds(t, 150)
	for seed := range n {
		if err := runModel(seed, broken{}, &c); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d seeds: %+v", n, c)
	for _, count := range []int{c.read / 20, c.notReady, c.rewritten, c.joined, c.late * 4, c.aborted, c.repeated} {
		if n >= 100 && uint64(count) < n/2 {
			t.Errorf("%+v in %d seeds: the model tests little", c, n)
		}
	}
}
