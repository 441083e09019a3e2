package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gpujoin/joincore/mesh"
)

// Side is one of the relations of a join.
type Side int

// The build and the probe side.
const (
	Build Side = iota
	Probe
)

// Histograms count rows by side, GPU and partition.
type Histograms [2][][]int64

// Limits bound an assignment.
type Limits struct {
	// Width is the bytes that a row of each side has on the link.
	Width [2]int64
	// Copy says which sides' rows may be on several GPUs at once.
	Copy [2]bool
	// Worth is how many bytes copies have to save on the links, for each byte of rows that are
	// joined once more because of them. 0: copies may also cost traffic, where no GPU alone can
	// join a partition within its share.
	Worth float64
	// Free is the memory of each GPU for the rows that it joins, in bytes; nil means no limit.
	// Held is what a row of each side takes of it, also on the GPU that has the row.
	Free []int64
	Held [2]int64
	// Slack is how many more rows than the mean a GPU may get before cheap traffic stops to
	// count: 0.1 means a tenth. A GPU that holds most of the input would otherwise join alone.
	Slack float64
}

// Assignment says where rows go.
type Assignment struct {
	// To[side][partition][gpu] is the set of GPUs, a bit for each, that get the
	// rows of a partition which a GPU has. 0: they are not needed.
	To [2][][]uint64
	// Traffic[from][to] is what the exchange will carry, in bytes.
	Traffic [][]int64
	// Rows is how many rows of both sides each GPU joins.
	Rows []int64
}

// ErrMemory says that no assignment found fits the GPUs' memory.
var ErrMemory = errors.New("the rows to exchange do not fit in the memory of the GPUs")

// Assign decides where each partition is joined, as Track Join does (MG-Join, section 3.2):
// rows of one side move to some GPUs, rows of the other side are copied to all of these. It
// starts from the GPUs that hold the moving side and moves what saves more copies than it
// costs. The cost of a byte is that of the cheapest way between two GPUs without congestion.
// Large partitions are assigned first, but behind those with a side that is worth copying: rows of
// their other side stay, and others even out what GPUs have to join. Of equally cheap GPUs the one
// with fewest rows is taken.
// ErrMemory: the assignment that it has found exceeds a GPU's memory.
func Assign(h Histograms, m *mesh.Mesh, l Limits) (*Assignment, error) {
	a, err := newAssigner(h, m, l)
	if err != nil {
		return nil, err
	}
	a.smallFirst()
	for _, p := range a.order {
		a.partition(p)
	}
	return a.result()
}

type assigner struct {
	counts [2][]int64 // rows by side, partition and GPU
	sums   [2][]int64 // by side and partition
	limits Limits
	gpus   int
	parts  int
	order  []int // partitions, most rows first
	cost   [][]float64
	least  float64 // cost of a byte between the two closest GPUs
	most   int64   // rows of a GPU
	spare  int64   // rows that copies may add to those of all GPUs
	room   int64   // bytes that they may add
	rows   []int64
	held   []int64 // bytes, by GPU
	to     [2][][]uint64

	singles singles
}

func newAssigner(h Histograms, m *mesh.Mesh, l Limits) (*assigner, error) {
	a := &assigner{limits: l, gpus: m.GPUs(), rows: make([]int64, m.GPUs()), held: make([]int64, m.GPUs()), cost: costs(m), singles: newSingles(m.GPUs())}
	a.least = closest(a.cost)
	if l.Free != nil && len(l.Free) != a.gpus {
		return nil, fmt.Errorf("%w: the memory of %d GPUs, not %d", ErrTraffic, len(l.Free), a.gpus)
	}
	if l.Free != nil && min(l.Held[Build], l.Held[Probe]) < 1 {
		return nil, fmt.Errorf("%w: rows take %d and %d bytes of memory", ErrTraffic, l.Held[Build], l.Held[Probe])
	}
	for side := range h {
		if len(h[side]) != a.gpus || l.Width[side] < 1 {
			return nil, fmt.Errorf("%w: histograms of %d GPUs, rows of %d bytes", ErrTraffic, len(h[side]), l.Width[side])
		}
		for _, counts := range h[side] {
			if side == 0 && a.parts == 0 {
				a.parts = len(counts)
			}
			if len(counts) != a.parts {
				return nil, fmt.Errorf("%w: histograms of %d and %d partitions", ErrTraffic, a.parts, len(counts))
			}
		}
	}
	all, err := a.sum(h)
	if err != nil {
		return nil, err
	}
	a.rank()
	a.most = int64(math.Ceil(float64(all) / float64(a.gpus) * (1 + l.Slack)))
	a.spare = a.most*int64(a.gpus) - all
	a.room = a.roomForCopies()
	for side := range a.to {
		a.to[side] = make([][]uint64, a.parts)
		all := make([]uint64, a.parts*a.gpus)
		for p := range a.to[side] {
			a.to[side][p] = all[p*a.gpus:][:a.gpus:a.gpus]
		}
	}
	return a, nil
}

// sum keeps histograms in the order in which partitions are assigned, and returns the rows
// of all.
func (a *assigner) sum(h Histograms) (all int64, err error) {
	for side := range h {
		counts, sums := make([]int64, a.parts*a.gpus), make([]int64, a.parts)
		for g, list := range h[side] {
			for p, n := range list {
				if n < 0 {
					return 0, fmt.Errorf("%w: %d rows", ErrTraffic, n)
				}
				counts[p*a.gpus+g] = n
				sums[p] += n
				all += n
			}
		}
		a.counts[side], a.sums[side] = counts, sums
	}
	return all, nil
}

// roomForCopies returns the bytes of all GPUs' memory that one copy of each row leaves free.
func (a *assigner) roomForCopies() int64 {
	if a.limits.Free == nil {
		return math.MaxInt64
	}
	room := int64(0)
	for _, free := range a.limits.Free {
		room += free
	}
	for side, sums := range a.sums {
		for _, rows := range sums {
			room -= rows * a.limits.Held[side]
		}
	}
	return room
}

// rank orders the partitions by their rows.
func (a *assigner) rank() {
	type ranked struct {
		rows int64
		p    int
	}
	list := make([]ranked, a.parts)
	for p := range list {
		list[p] = ranked{a.sums[Build][p] + a.sums[Probe][p], p}
	}
	slices.SortFunc(list, func(x, y ranked) int {
		if x.rows != y.rows {
			return cmp.Compare(y.rows, x.rows)
		}
		return cmp.Compare(x.p, y.p)
	})
	a.order = make([]int, a.parts)
	for i := range list {
		a.order[i] = list[i].p
	}
}

// smallFirst moves partitions to the front, in their order, that have a side so small that copies of
// it may be worth it.
func (a *assigner) smallFirst() {
	if a.limits.Worth == 0 {
		return
	}
	var small, others []int
	for _, p := range a.order {
		if a.hasSmall(p) {
			small = append(small, p)
		} else {
			others = append(others, p)
		}
	}
	a.order = append(small, others...)
}

// hasSmall reports whether one side of a partition may be copied and is small compared with the other.
func (a *assigner) hasSmall(p int) bool {
	for copied := Build; copied <= Probe; copied++ {
		bytes := func(side Side) float64 { return float64(a.sums[side][p] * a.limits.Width[side]) }
		if a.limits.Copy[copied] && bytes(copied)*a.limits.Worth <= bytes(1-copied) {
			return true
		}
	}
	return false
}

// of returns the rows of a partition by GPU.
func (a *assigner) of(side Side, p int) []int64 {
	return a.counts[side][p*a.gpus:][:a.gpus]
}

func (a *assigner) partition(p int) {
	if a.sums[Build][p] == 0 || a.sums[Probe][p] == 0 {
		return // nothing matches: no row is needed
	}
	single := a.single(p)
	best := single
	for moves := Build; moves <= Probe; moves++ {
		if !a.limits.Copy[1-moves] || !a.worth(single.cost, moves, a.sums[1-moves][p]) {
			continue // even copies for nothing would not pay
		}
		if x := a.track(p, moves); a.allows(x, single) && a.better(x, best) {
			best = x
		}
	}
	a.take(p, best)
}

// allows reports whether the copies of a plan save enough, compared with joining the partition
// on one GPU, and leave memory for one copy of each row of the partitions that follow.
func (a *assigner) allows(x, single *plan) bool {
	return x.extra == 0 || a.worth(single.cost-x.cost, x.moves, x.extra) && x.extra*a.limits.Held[1-x.moves] <= max(a.room, 0)
}

// worth reports whether saved traffic is worth joining rows once more of the side that is
// copied.
func (a *assigner) worth(saved float64, moves Side, rows int64) bool {
	return a.limits.Worth == 0 || saved >= a.limits.Worth*float64(rows*a.limits.Width[1-moves])*a.least
}

// take assigns a partition by a plan.
func (a *assigner) take(p int, best *plan) {
	moving, copied := a.of(best.moves, p), a.of(1-best.moves, p)
	home, set := a.to[best.moves][p], a.to[1-best.moves][p]
	for g := range a.gpus {
		if moving[g] > 0 {
			home[g] = 1 << best.home[g]
		}
		if copied[g] > 0 {
			set[g] = best.set
		}
		a.rows[g] += best.rows[g]
		if best.set>>g&1 != 0 {
			a.held[g] += a.bytes(p, best, g)
		}
	}
	a.spare -= best.extra
	if a.limits.Free != nil {
		a.room -= best.extra * a.limits.Held[1-best.moves]
	}
}

// bytes returns the memory that GPU g, one of a plan's, needs for its rows.
func (a *assigner) bytes(p int, x *plan, g int) int64 {
	copied := a.sums[1-x.moves][p]
	return (x.rows[g]-copied)*a.limits.Held[x.moves] + copied*a.limits.Held[1-x.moves]
}

// lack returns by how many bytes a plan exceeds the memory of one of its GPUs, at most.
func (a *assigner) lack(p int, x *plan) (most int64) {
	if a.limits.Free == nil {
		return 0
	}
	for s := x.set; s != 0; s &= s - 1 {
		g := bits.TrailingZeros64(s)
		most = max(most, a.held[g]+a.bytes(p, x, g)-a.limits.Free[g])
	}
	return most
}

// within reports whether a plan leaves every GPU within its share of rows, and its copies
// leave enough of the shares for the partitions that follow.
func (a *assigner) within(x *plan) bool { return x.most <= a.most && x.extra <= max(a.spare, 0) }

// better says whether a plan is to be preferred: one that fits the memory of every GPU, then
// one that leaves each within its share of rows, then the cheaper one, then the more even one.
// Where no plan stays within the share, the more even one.
func (a *assigner) better(x, y *plan) bool {
	inX, inY := a.within(x), a.within(y)
	switch {
	case x.lacks != y.lacks:
		return x.lacks < y.lacks
	case inX != inY:
		return inX
	case !inX && x.most != y.most:
		return x.most < y.most
	case math.Abs(x.cost-y.cost) > 1e-9*max(x.cost, y.cost):
		return x.cost < y.cost
	}
	return x.most < y.most
}

// result sums up the traffic, and compares it with the memory.
func (a *assigner) result() (*Assignment, error) {
	r := &Assignment{To: a.to, Rows: a.rows, Traffic: make([][]int64, a.gpus)}
	for g := range r.Traffic {
		r.Traffic[g] = make([]int64, a.gpus)
	}
	for side := range a.to {
		for p := range a.parts {
			sets := a.to[side][p]
			for from, rows := range a.of(Side(side), p) {
				bytes := rows * a.limits.Width[side]
				for s := sets[from] &^ (1 << from); s != 0 && bytes > 0; s &= s - 1 {
					to := bits.TrailingZeros64(s)
					if a.cost[from][to] == unreachable {
						return nil, fmt.Errorf("%w: no route from %d to %d", ErrTraffic, from, to)
					}
					r.Traffic[from][to] += bytes
				}
			}
		}
	}
	for g, free := range a.limits.Free {
		if a.held[g] > free {
			return nil, fmt.Errorf("%w: %d bytes for GPU %d, which has %d free", ErrMemory, a.held[g], g, free)
		}
	}
	return r, nil
}
