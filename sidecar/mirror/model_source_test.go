package mirror

import (
	"maps"
	"math/rand/v2"
	"sort"
)

// modelSource is the source of the model: a list of committed transactions, and what the tables
// had after each of them. It is the oracle.
type modelSource struct {
	rnd     *rand.Rand
	wal     LSN
	tables  []uint32
	rows    map[uint32]map[int64]record
	version int64
	history []modelCommit // the first one is the empty beginning
}

// modelCommit is a transaction.
type modelCommit struct {
	final, end LSN
	changes    []modelChange
	after      map[uint32]map[int64]record
}

// modelChange is a change; unchanged: an update that does not send the text.
type modelChange struct {
	table     uint32
	op        Op
	old       int64
	new       record
	unchanged bool
}

func newModelSource(rnd *rand.Rand, tables int) *modelSource {
	m := &modelSource{rnd: rnd, wal: 100, rows: map[uint32]map[int64]record{}}
	for i := range tables {
		m.tables = append(m.tables, uint32(i+1))
		m.rows[uint32(i+1)] = map[int64]record{}
	}
	m.history = []modelCommit{{after: m.copy()}}
	return m
}

func (m *modelSource) copy() map[uint32]map[int64]record {
	out := map[uint32]map[int64]record{}
	for t, rows := range m.rows {
		out[t] = maps.Clone(rows)
	}
	return out
}

// transact commits a transaction of random changes.
func (m *modelSource) transact() {
	c := modelCommit{}
	for range m.rnd.IntN(6) {
		c.changes = append(c.changes, m.change(m.tables[m.rnd.IntN(len(m.tables))]))
	}
	m.wal += 1 + LSN(m.rnd.IntN(20))
	c.final = m.wal
	m.wal += 1 + LSN(m.rnd.IntN(20))
	c.end, c.after = m.wal, m.copy()
	m.history = append(m.history, c)
}

const modelIDs = 60

func (m *modelSource) change(table uint32) modelChange {
	rows := m.rows[table]
	m.version++
	id := m.rnd.Int64N(modelIDs)
	old, there := rows[id]
	switch n := m.rnd.IntN(40); {
	case n == 0:
		clear(rows)
		return modelChange{table: table, op: Truncate}
	case !there:
		rows[id] = rec(id, m.version)
		return modelChange{table: table, op: Insert, new: rows[id]}
	case n < 12:
		delete(rows, id)
		return modelChange{table: table, op: Delete, old: id}
	}
	c := modelChange{table: table, op: Update, old: id, new: rec(id, m.version), unchanged: m.rnd.IntN(3) == 0}
	if to := m.rnd.Int64N(modelIDs); m.rnd.IntN(4) == 0 {
		if _, taken := rows[to]; !taken {
			delete(rows, id)
			c.new = rec(to, m.version)
		}
	}
	if c.unchanged {
		c.new.text = old.text
	}
	rows[c.new.id] = c.new
	return c
}

// at returns the number of the last transaction that ends up to a position.
func (m *modelSource) at(position LSN) int {
	return sort.Search(len(m.history), func(i int) bool { return m.history[i].end > position }) - 1
}

// encoded returns a change as the stream delivers it.
func (c *modelChange) encoded() Change {
	out := Change{Table: c.table, Op: c.op}
	switch c.op {
	case Insert:
		out.New = c.new.row(false)
	case Update:
		out.New = c.new.row(c.unchanged)
		if c.old != c.new.id {
			out.Key = keyOf(c.old)
		}
	case Delete:
		out.Key = keyOf(c.old)
	}
	return out
}

// want returns what a table has at a position, as readRows returns it.
func (m *modelSource) want(table uint32, position LSN) (out []string) {
	for _, r := range m.history[m.at(position)].after[table] {
		out = append(out, r.String())
	}
	sort.Strings(out)
	return out
}
