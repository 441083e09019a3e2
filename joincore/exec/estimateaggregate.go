package exec

import "gpujoin/joincore"

// aggregate returns the bytes in use while the groups of an aggregate are made,
// or read. Rows may be partitioned before they are grouped, and each partition
// is freed when its groups are written.
func (e *estimator) aggregate(n *joincore.Aggregate) int64 {
	below := e.flow(n.Child, newColumns(joincore.AggregateColumns(n)))
	groups, rows := e.rows[n], e.rows[n.Child]
	width := int64(0)
	for _, c := range e.schema[n.ID] {
		width += int64(c.Width) + 1
		if c.Kind == joincore.Varlena {
			width += 4 + guessedTextBytes
		}
	}
	result := times(groups, width)
	for i := range n.Functions {
		if n.Functions[i].Kind > joincore.SumOfSquares {
			width += floatWidth
		}
	}
	tables := times(int64(e.streams()), min(groups, tableGroups), 2, width+groupWidth)
	stored := times(rows, width+rowWidth)
	blocks := plus(stored, stored/2) // some are not full
	spooled := int64(0)
	if groups > wideGroups {
		spooled = blocks
	}
	for i := range n.Functions {
		if n.Functions[i].Distinct { // values are groups, at most as many as rows
			spooled = plus(spooled, blocks)
			result = plus(result, stored)
		}
	}
	return plus(tables, spooled, max(below, result))
}

// tableGroups is up to how many groups a worker has in a table of its own, and
// groupWidth what one takes of it besides its values. Where groups are wide, a
// table has as few as wideGroups before rows are partitioned; rowWidth is what
// such a row takes. floatWidth is what a sum of floats takes besides its value.
const (
	tableGroups = 1 << 16
	wideGroups  = 1 << 14
	groupWidth  = 64
	rowWidth    = 16
	floatWidth  = 8 * joincore.FloatDigits
)

// aggregate adds the vectors of keys and arguments.
func (p *pipelines) aggregate(n *joincore.Aggregate, e *estimator) {
	width := p.flow(n.Child, e) + groupingWidth*(1+len(n.Keys)+len(n.Carry)+len(n.Functions))
	for _, key := range n.Keys {
		p.registers = p.registers.or(ofValue(key))
	}
	for i := range n.Functions {
		p.condition(n.Functions[i].Filter)
		p.registers = p.registers.or(registers{values: 1, truths: 1, subsets: 1}.and(ofValue(n.Functions[i].Arg)))
	}
	p.widest = max(p.widest, width)
}

// groupingWidth is what a row of a chunk takes for each key and function.
const groupingWidth = 40
