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
	// Width is the bytes that a row of each side has on the link and, on the
	// GPU that receives it, in memory.
	Width [2]int64
	// Copy says which sides' rows may be on several GPUs at once: none that is
	// returned once for each row, as an outer join returns rows without partner.
	Copy [2]bool
	// Keep says which sides' rows are returned also without partner. Other rows
	// of partitions that are empty on the other side are not sent at all.
	Keep [2]bool
	// Free is the memory of each GPU for rows that it receives, in bytes; nil means no limit.
	Free []int64
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
// Large partitions are assigned first; of equally cheap GPUs the one with fewest rows is taken.
func Assign(h Histograms, m *mesh.Mesh, l Limits) (*Assignment, error) {
	a, err := newAssigner(h, m, l)
	if err != nil {
		return nil, err
	}
	for _, p := range a.order {
		a.partition(p)
	}
	return a.result()
}

// Collocate decides where each partition of one relation goes, such that all its rows
// meet on one GPU: the sets of GPUs, a bit for each, by partition and by the GPU that has
// the rows. rows counts them by GPU and partition; width and slack are those of Limits.
func Collocate(rows [][]int64, m *mesh.Mesh, width int64, slack float64) ([][]uint64, error) {
	none := make([][]int64, len(rows))
	for g := range none {
		none[g] = make([]int64, len(rows[g]))
	}
	a, err := newAssigner(Histograms{rows, none}, m, Limits{Width: [2]int64{width, 1}, Slack: slack})
	if err != nil {
		return nil, err
	}
	for _, p := range a.order {
		a.take(p, a.single(p))
	}
	r, err := a.result()
	if err != nil {
		return nil, err
	}
	return r.To[Build], nil
}

type assigner struct {
	counts [2][]int64 // rows by side, partition and GPU
	sums   [2][]int64 // by side and partition
	limits Limits
	gpus   int
	parts  int
	order  []int // partitions, most rows first
	cost   [][]float64
	most   int64 // rows of a GPU
	spare  int64 // rows that copies may add to those of all GPUs
	rows   []int64
	to     [2][][]uint64

	singles singles
}

func newAssigner(h Histograms, m *mesh.Mesh, l Limits) (*assigner, error) {
	a := &assigner{limits: l, gpus: m.GPUs(), rows: make([]int64, m.GPUs()), cost: costs(m), singles: newSingles(m.GPUs())}
	if l.Free != nil && len(l.Free) != a.gpus {
		return nil, fmt.Errorf("%w: the memory of %d GPUs, not %d", ErrTraffic, len(l.Free), a.gpus)
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

// of returns the rows of a partition by GPU.
func (a *assigner) of(side Side, p int) []int64 {
	return a.counts[side][p*a.gpus:][:a.gpus]
}

func (a *assigner) partition(p int) {
	if a.sums[Build][p] == 0 || a.sums[Probe][p] == 0 {
		// Nothing matches: what is returned all the same is so where it is.
		for side := range a.to {
			for g, n := range a.of(Side(side), p) {
				if a.limits.Keep[side] && n > 0 {
					a.to[side][p][g] = 1 << g
					a.rows[g] += n
				}
			}
		}
		return
	}
	best := a.single(p)
	for moves := Build; moves <= Probe; moves++ {
		if a.limits.Copy[1-moves] {
			if x := a.track(p, moves); a.better(x, best) {
				best = x
			}
		}
	}
	a.take(p, best)
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
	}
	a.spare -= best.extra
}

// within reports whether a plan leaves every GPU within its share of rows, and its copies
// leave enough of the shares for the partitions that follow.
func (a *assigner) within(x *plan) bool { return x.most <= a.most && x.extra <= max(a.spare, 0) }

// better says whether a plan is to be preferred: one that leaves every GPU
// within its share of rows, then the cheaper one, then the more even one. Where
// no plan stays within the share, the more even one.
func (a *assigner) better(x, y *plan) bool {
	inX, inY := a.within(x), a.within(y)
	switch {
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
	received := make([]int64, a.gpus)
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
					received[to] += bytes
				}
			}
		}
	}
	for g, bytes := range received {
		if a.limits.Free != nil && bytes > a.limits.Free[g] {
			return nil, fmt.Errorf("%w: %d bytes for GPU %d, which has %d free", ErrMemory, bytes, g, a.limits.Free[g])
		}
	}
	return r, nil
}
