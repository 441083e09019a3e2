//go:build cuda

package rowid

import (
	"context"
	"encoding/binary"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/program"
)

// groupVariant names the kernel for a program: its values have 64 or 128 bits, keys have
// one or several words.
func (g *Groups) groupVariant(p *program.Program) string {
	values, keys := "narrow", "word"
	if p.Wide {
		values = "wide"
	}
	if g.spec.Words > 1 {
		keys = "words"
	}
	return values + "_" + keys
}

// groupLaunch is a kernel with its program and descriptor.
type groupLaunch struct {
	variant string
	kernel  *driver.Kernel // that interprets the program
	program *program.Program
	columns []ColumnDescriptor // that it reads
	job     aggregateDescriptor
}

// needs says what a block needs shared memory for.
func (l *groupLaunch) needs(g *Groups) *blockNeeds {
	n := &blockNeeds{
		threads: int64(l.kernel.Threads), header: int64(l.kernel.Shared), tile: int64(l.kernel.Rows), slotBytes: int64(l.kernel.Fan),
		program: int64(8*(len(l.program.Code)+1)) + int64(binary.Size(ColumnDescriptor{}))*int64(len(l.program.Columns)),
		slots:   int64(l.program.Slots), filter: l.job.Filter > 0, noKeys: l.job.NoKeys == 1, words: int64(g.spec.Words),
		cellWords: int64(g.layout.LocalWords), cellWides: int64(g.layout.LocalWides),
	}
	if g.spec.Words > 1 {
		n.slots += int64(g.spec.Words)
	}
	return n
}

// aggregate launches a kernel, of which a block's table is to hold the given groups, and
// returns how many rows are left.
func (g *Groups) aggregate(ctx context.Context, l groupLaunch, groups int64) (left int64, err error) {
	q, info := g.q, g.q.kernels.context.Info()
	rows := int64(l.job.Rows)
	if k, release := q.kernels.specialisedFor(&l, g.spec.Words); k != nil {
		defer release()
		l.kernel = k
	}
	b, ok := planBlock(l.needs(g), int64(info.SharedOptin), groups, rows/int64(info.SMs))
	if !ok {
		return 0, fmt.Errorf("expressions that need %d bytes of shared memory: %w", b.shared, joincore.ErrUnsupported)
	}
	if l.job.Mode == groupScatter { // the rows of partitions are counted in place of a table
		b.shared = b.table + 8*int64(l.job.Partitions)
	}
	job := l.job
	job.Groups = uint64(g.table.at)
	if b.staged {
		job.Staged = 1
	}
	job.PassedAt, job.SlotsAt, job.LocalAt = uint64(b.passed), uint64(b.slots), uint64(b.table)
	job.LocalCapacity, job.LocalGroups, job.LocalProbes, job.Copies = uint64(b.capacity), uint64(b.groups), uint64(b.probes), uint64(b.copies)
	if err := q.stream.Memset(g.state+8*stateLeft, 0, 8); err != nil {
		return 0, err
	}
	mark := q.arena.Mark()
	defer q.arena.Rewind(mark)
	at, err := q.upload(ctx, job)
	if err != nil {
		return 0, err
	}
	q.cost.Launches++
	grid := min(tiles(rows, l.kernel.Rows*int(b.threads)/32), int64(info.SMs))
	if err := l.kernel.LaunchThreads(q.stream, int(max(grid, 1)), int(b.threads), int(b.shared), uint64(at)); err != nil {
		return 0, err
	}
	state, err := q.read(ctx, g.state, stateWords)
	if err != nil {
		return 0, err
	}
	if state[stateFailed] != 0 {
		return 0, g.outOfRange()
	}
	g.count = int64(state[stateCount])
	return int64(state[stateLeft]), nil
}

// outOfRange returns the error of a program that has failed.
func (g *Groups) outOfRange() error {
	if g.spec.Narrowed {
		return fmt.Errorf("an expression out of range, or the least, the greatest or a variance of values beyond 8 bytes: %w", joincore.ErrUnsupported)
	}
	return joincore.ErrArithmetic
}

// known returns how many groups the next launch should expect to meet.
func (g *Groups) known() int64 {
	if g.sample.rows == 0 {
		return unknownGroups
	}
	return g.count
}

// aggregateAll launches a kernel, and again for rows that are left, with a larger table.
// The launch has the first of the lists for them.
func (g *Groups) aggregateAll(ctx context.Context, l groupLaunch, groups int64, lists [2]driver.Ptr) error {
	for {
		l.job.Left = uint64(lists[0])
		left, err := g.aggregate(ctx, l, groups)
		if err != nil || left == 0 {
			return err
		}
		if err := g.grow(ctx, nextSlots(g.table.capacity, g.count+left, g.slotBytes(), g.q.arena.Free())); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		l.job.Mode, l.job.Begin, l.job.Filter = groupDirectly, 0, uint64(l.program.Filter)
		l.job.Chosen, l.job.Rows = uint64(lists[0]), uint64(left)
		groups, lists = g.known(), [2]driver.Ptr{lists[1], lists[0]}
	}
}

// aggregateScattered scatters rows to partitions, of which each is then grouped by a
// block. Rows of partitions that are full are grouped first, like those of few groups.
func (g *Groups) aggregateScattered(ctx context.Context, l groupLaunch, s scatterPlan, lists [2]driver.Ptr) error {
	q := g.q
	counts, err := q.arena.Take(4 * countsApart * s.partitions)
	if err != nil {
		return err
	}
	rows, err := q.arena.Take(4 * s.partitions * s.capacity)
	if err != nil {
		return err
	}
	if err := q.stream.Memset(counts, 0, 4*countsApart*s.partitions); err != nil {
		return err
	}
	scatter := l
	scatter.job.Mode, scatter.job.Left = groupScatter, uint64(lists[0])
	scatter.job.Partitions, scatter.job.PartitionCapacity = uint64(s.partitions), uint64(s.capacity)
	scatter.job.PartitionRows, scatter.job.PartitionCounts = uint64(rows), uint64(counts)
	scatter.job.Program.Length, scatter.job.Program.ColumnCount = uint64(l.program.Grouped), uint64(l.program.GroupedColumns)
	left, err := g.aggregate(ctx, scatter, 0)
	if err != nil {
		return err
	}
	if left > 0 {
		direct := l
		direct.job.Chosen, direct.job.Rows = uint64(lists[0]), uint64(left)
		if err := g.aggregateAll(ctx, direct, g.known(), [2]driver.Ptr{lists[1], lists[0]}); err != nil {
			return err
		}
	}
	gather := scatter
	gather.job.Mode, gather.job.Program = groupGather, l.job.Program
	gather.job.Begin, gather.job.Filter = l.job.Filter, 0
	return g.aggregateAll(ctx, gather, s.groups, lists)
}

// unknownGroups is how many groups the first block's tables are made for.
const unknownGroups = 256
