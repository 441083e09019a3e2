package cpu

import (
	"bytes"
	"context"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// prober finds the partners of a chunk: the chain of each key (its first row, if the
// build side is sorted), then pairs, at most a chunk at a time, then evaluates
// conditions on the pairs.
type prober struct {
	st    *stream
	match *device.Match
	check condition // on pairs: real keys equal where only hashes are compared, residual; nil: none
	first bool      // stop at each row's first partner

	in    *rows
	table *table
	sel   []uint32 // rows of in that may have partners: those whose key is not NULL; nil: all
	head  []uint32 // their chains
	found bool     // to has the only partner of each of them, or none; head is not set
	whole bool     // and no row lacks one
	next  int      // the first of them that is not finished
	link  uint32   // where its chain continues, 0: at its head
	ended bool

	keys    keyer
	members selection
	heads   []uint32
	from    []uint32 // of pairs: row of in
	to      []uint32 // of pairs: build position
	matched []uint8
	out     *rows
}

func (st *stream) NewProber(m *device.Match) device.Prober {
	n := st.dev.chunk
	p := &prober{
		st: st, match: m, out: newRows(n), heads: make([]uint32, n),
		from: make([]uint32, n+1), to: make([]uint32, n+1), matched: make([]uint8, n), members: newSelection(n),
	}
	p.keys.init(st)
	p.check = st.dev.pairCondition(m)
	p.first = p.check == nil && !m.Mark && (m.Emit == device.Semi || m.Emit == device.Anti)
	return p
}

func (p *prober) Start(ctx context.Context, r device.Rows, t device.Table) error {
	p.in, p.table = r.(*rows), t.(*table)
	keys, sel := p.keys.compute(p.in, p.match.Probe, p.st.dev.inputs)
	if p.table.member != nil {
		keys, sel = p.members.apply(p.table, keys, sel)
	}
	p.sel, p.head, p.found = sel, p.heads[:len(keys)], false
	switch {
	case p.table.sorted != nil:
		if err := p.table.lookupSorted(ctx, keys, p.head); err != nil {
			return err
		}
	case p.table.dense != nil && p.single():
		p.found, p.whole = true, p.table.lookupPartners(keys, p.to)
	case p.table.dense != nil:
		p.table.lookupDense(keys, p.head)
	default:
		p.table.lookup(keys, p.head, p.st.todo, p.st.slot)
	}
	p.next, p.link, p.ended = 0, 0, false
	if p.match.Emit != device.Pairs {
		clear(p.matched[:p.in.n])
	}
	return nil
}

func (p *prober) Next(ctx context.Context) (device.Rows, device.Count, error) {
	for {
		// Conditions may reject any number of pairs, even of a single row.
		if err := p.st.yield(ctx); err != nil {
			return nil, device.Known(int64(0)), err
		}
		n, whole := p.pairs()
		if n == 0 {
			break
		}
		n, err := p.accept(n, whole)
		if err != nil {
			return nil, device.Known(int64(0)), err
		}
		if n > 0 && p.match.Emit <= device.Outer {
			return p.out, device.Known(int64(n)), nil
		}
	}
	return p.out, device.Known(int64(p.rest())), nil
}

// pairs fills from and to. whole: every row of the chunk has exactly one partner, so
// from is 0, 1, 2, ..., or not set where nothing reads it.
func (p *prober) pairs() (n int, whole bool) {
	if p.next >= len(p.head) {
		return 0, false
	}
	if p.single() {
		p.next = len(p.head)
		if p.allMatch() {
			return p.in.n, true
		}
		m := 0
		from, to := p.from[:len(p.head)+1], p.to[:len(p.head)+1]
		if p.found {
			for i, partner := range to[:len(p.head)] {
				from[m] = uint32(i)
				to[m] = partner
				m += int(bit(partner != none))
			}
		} else {
			for i, h := range p.head {
				from[m] = uint32(i)
				to[m] = h - 1
				m += int(bit(h != 0))
			}
		}
		if p.sel == nil {
			return m, m == p.in.n
		}
		for i, f := range from[:m] {
			from[i] = p.sel[f]
		}
		return m, false
	}
	return p.follow(), false
}

// single reports whether each row has one pair at most.
func (p *prober) single() bool { return p.first || !p.table.chains.Load() }

// allMatch fills to if every row of the chunk has a partner, as keys of a foreign key have,
// and nothing reads from. It ends at the first row that has none.
func (p *prober) allMatch() bool {
	if p.sel != nil || p.check != nil || p.match.Emit != device.Pairs {
		return false
	}
	if p.found {
		return p.whole
	}
	to := p.to[:len(p.head)]
	for i, h := range p.head {
		if h == 0 {
			return false
		}
		to[i] = h - 1
	}
	return true
}

// follow walks chains until the chunk is full.
func (p *prober) follow() int {
	m, capacity := 0, len(p.from)-1
	chain, base, sorted := p.table.chain, p.table.first, p.table.sorted != nil
	for ; p.next < len(p.head); p.next++ {
		h := p.link
		if p.link = 0; h == 0 {
			h = p.head[p.next]
		}
		if h == 0 || p.covered(h) {
			continue
		}
		row := uint32(p.next)
		if p.sel != nil {
			row = p.sel[p.next]
		}
		for h != 0 {
			if m == capacity {
				p.link = h
				return m
			}
			p.from[m], p.to[m] = row, h-1
			m++
			if sorted {
				h = p.table.nextSorted(h)
			} else {
				h = chain[h-1-base]
			}
		}
	}
	return m
}

// covered reports that following a chain would only set marks that are set already:
// the first row of a chain is marked only together with all others.
func (p *prober) covered(h uint32) bool {
	return p.match.Emit == device.Nothing && p.check == nil && p.table.space.marks.has(h-1)
}

// accept turns n pairs into result rows, without those that the conditions reject.
func (p *prober) accept(n int, whole bool) (int, error) {
	p.compose(n, whole)
	if p.check != nil {
		passed := p.st.takeTruth()
		defer p.st.drop(0, 1, 0)
		if err := p.check.eval(p.st, p.out, passed); err != nil {
			return 0, err
		}
		m := 0
		for i := range n {
			p.from[m], p.to[m] = p.from[i], p.to[i]
			m += int(passed.yes[i/64] >> (i % 64) & 1)
		}
		if m < n {
			n = m
			p.compose(n, false)
		}
	}
	if p.match.Emit != device.Pairs {
		for _, f := range p.from[:n] {
			p.matched[f] = 1
		}
	}
	if p.match.Mark {
		for _, b := range p.to[:n] {
			p.table.space.marks.set(b)
		}
	}
	return n, nil
}

func (p *prober) compose(n int, whole bool) {
	sel := p.from[:n]
	if whole {
		sel = nil
	}
	p.out.take(p.in, sel, n)
	p.out.slots = append(p.out.slots, slot{space: p.table.space, pos: p.to[:n]})
}

// rest returns, once, the rows whose result is known only after all pairs.
func (p *prober) rest() int {
	if p.ended {
		return 0
	}
	p.ended = true
	var want uint8
	switch p.match.Emit {
	case device.Semi:
		want = 1
	case device.Outer, device.Anti:
	default:
		return 0
	}
	m := 0
	for i, x := range p.matched[:p.in.n] {
		p.from[m] = uint32(i)
		m += int(bit(x == want))
	}
	p.out.take(p.in, p.from[:m], m)
	return m
}

// pairCondition returns the condition that pairs with equal hashes must satisfy: key
// parts that the hash does not compare exactly are equal, and the residual is true.
// nil: all pairs pass.
func (d *dev) pairCondition(m *device.Match) condition {
	var all []term
	if !m.Build.Exact {
		for i := range m.Build.Parts {
			all = append(all, term{condition: &equality{build: &m.Build.Parts[i], probe: &m.Probe.Parts[i]}})
		}
	}
	if m.Residual != nil {
		all = append(all, term{d.condition(m.Residual, m.Parameters), joincore.CanFail(m.Residual)})
	}
	if len(all) == 0 {
		return nil
	}
	return newLogic(all, true)
}

// equality compares one part of two keys whose hashes are equal.
type equality struct{ build, probe *device.KeyPart }

func (e *equality) eval(st *stream, r *rows, out *truths) error {
	inputs := st.dev.inputs
	ca, sa := r.locate(e.build.Column, inputs)
	cb, sb := r.locate(e.probe.Column, inputs)
	if ca == nil || cb == nil {
		out.set(isFalse)
		return nil
	}
	switch n := r.n; {
	case e.build.Class == joincore.KeyVarlena:
		maskOf(out.yes, n, func(i int) bool {
			x, row, _ := sa.at(i)
			y, other, _ := sb.at(i)
			return bytes.Equal(ca.varlena(x, row), cb.varlena(y, other))
		})
	case ca.width <= 8:
		a, b := st.first[:n], st.second[:n]
		st.fetchInts(a, ca, sa)
		st.fetchInts(b, cb, sb)
		equalColumns(out.yes, a, b)
	default:
		words := ca.width / 8
		maskOf(out.yes, n, func(i int) bool {
			return slices.Equal(wordsAt(ca, sa, i, words), wordsAt(cb, sb, i, words))
		})
	}
	out.known()
	return nil
}

func wordsAt(c *column, s *slot, i, words int) []uint64 {
	segment, row, _ := s.at(i)
	return c.v64[segment][int(row)*words : (int(row)+1)*words]
}
