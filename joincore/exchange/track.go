package exchange

import (
	"math/bits"

	"gpujoin/joincore/mesh"
)

// plan is a way to join one partition: the rows of one side move to some GPUs,
// those of the other side are copied to all of these.
type plan struct {
	moves Side
	home  []int   // where the rows of the moving side go, by the GPU that has them
	set   uint64  // all homes
	cost  float64 // of all traffic, in nanoseconds
	rows  []int64 // that each GPU gets
	most  int64   // rows of the GPU with most rows after it
	extra int64   // rows that are joined beyond one copy of each
	lacks int64   // bytes by which it exceeds a GPU's memory
}

// singles is memory for the plans of one partition. An exchange waits for its assignment,
// most of whose time would be that of allocations.
type singles struct {
	plans []plan // by GPU; their homes, sets and zeros are the same for all partitions
	sums  []float64
}

func newSingles(gpus int) singles {
	s := singles{make([]plan, gpus), make([]float64, 2*gpus)}
	homes, rows := make([]int, gpus*gpus), make([]int64, gpus*gpus)
	for to := range s.plans {
		x := &s.plans[to]
		x.home, x.rows, x.set = homes[to*gpus:][:gpus:gpus], rows[to*gpus:][:gpus:gpus], 1<<to
		for g := range x.home {
			x.home[g] = to
		}
	}
	return s
}

// single finds the GPU on which a partition is best joined. The plan is valid until the
// next call.
func (a *assigner) single(p int) *plan {
	clear(a.singles.sums)
	c := a.candidate(p, Build, a.singles.sums)
	rows := a.sums[Build][p] + c.copied
	var best *plan
	for to := range a.singles.plans {
		x := &a.singles.plans[to]
		x.cost = c.copies[to]
		for g, bytes := range c.bytes {
			x.cost += bytes * a.cost[g][to]
		}
		x.rows[to] = rows
		x.most, x.lacks = a.mostAfter(x.rows), a.lack(p, x)
		if best == nil || a.better(x, best) {
			best = x
		}
	}
	return best
}

// candidate is what the plans of a partition have in common.
type candidate struct {
	bytes  []float64 // of the moving side, by GPU
	copies []float64 // cost of the copies of the other side to a GPU
	copied int64     // rows of the other side
}

// extra returns the rows that are joined beyond one copy of each, on a set of GPUs.
func (c *candidate) extra(set uint64) int64 { return int64(max(bits.OnesCount64(set)-1, 0)) * c.copied }

// candidate describes a partition. sums is memory for two zeros a GPU.
func (a *assigner) candidate(p int, moves Side, sums []float64) candidate {
	c := candidate{sums[:a.gpus], sums[a.gpus:], a.sums[1-moves][p]}
	moving, copied := a.of(moves, p), a.of(1-moves, p)
	for g := range moving {
		c.bytes[g] = float64(moving[g] * a.limits.Width[moves])
		other := float64(copied[g] * a.limits.Width[1-moves])
		for to := range c.copies {
			if other > 0 {
				c.copies[to] += other * a.cost[g][to]
			}
		}
	}
	return c
}

// track finds which rows of the moving side leave their GPU. What is at home on
// one GPU moves to another one together.
func (a *assigner) track(p int, moves Side) *plan {
	c := a.candidate(p, moves, make([]float64, 2*a.gpus))
	x := &plan{moves: moves, home: make([]int, a.gpus), rows: make([]int64, a.gpus)}
	for g, rows := range a.of(moves, p) {
		x.home[g] = g
		if rows > 0 {
			x.set |= 1 << g
			x.cost += c.copies[g]
			x.rows[g] = rows + c.copied
		}
	}
	x.most, x.extra = a.mostAfter(x.rows), c.extra(x.set)
	for {
		var best, y step
		for s := x.set; s != 0; s &= s - 1 {
			from := bits.TrailingZeros64(s)
			for to := range a.gpus {
				if to == from {
					continue
				}
				a.move(&c, x, from, to, &y)
				if best.set == 0 || a.better(&y.plan, &best.plan) {
					best = y
				}
			}
		}
		if best.set == 0 || !a.better(&best.plan, x) {
			x.lacks = a.lack(p, x)
			return x
		}
		x.rows[best.from], x.rows[best.to] = 0, x.rows[best.to]+best.more
		x.set, x.cost, x.most, x.extra = best.set, best.cost, best.most, best.extra
		for g, home := range x.home {
			if home == best.from {
				x.home[g] = best.to
			}
		}
	}
}

// step is a plan, but for its rows, after what is at home on one GPU has moved to another.
type step struct {
	plan
	from, to int
	more     int64 // rows of the GPU that it has moved to
}

// move computes a step: the benefit is the copies saved, the price is the move.
func (a *assigner) move(c *candidate, x *plan, from, to int, y *step) {
	y.from, y.to = from, to
	y.cost = x.cost - c.copies[from]
	y.more = x.rows[from] - c.copied
	if x.set>>to&1 == 0 {
		y.cost += c.copies[to]
		y.more += c.copied
	}
	for g, home := range x.home {
		if home == from && c.bytes[g] > 0 {
			y.cost += c.bytes[g] * (a.cost[g][to] - a.cost[g][from])
		}
	}
	y.set = x.set&^(1<<from) | 1<<to
	y.extra = c.extra(y.set)
	y.most = 0
	for g, rows := range x.rows {
		switch g {
		case from:
			rows = 0
		case to:
			rows += y.more
		}
		y.most = max(y.most, a.rows[g]+rows)
	}
}

// mostAfter is how many rows the GPU with most would have.
func (a *assigner) mostAfter(rows []int64) int64 {
	var most int64
	for g := range rows {
		most = max(most, a.rows[g]+rows[g])
	}
	return most
}

// unreachable is the cost of a byte between GPUs that nothing connects.
const unreachable = 1e9

// closest returns the least cost of a byte between two GPUs; 0 if there is one GPU.
func closest(cost [][]float64) (least float64) {
	for from, row := range cost {
		for to, c := range row {
			if from != to && (least == 0 || c < least) {
				least = c
			}
		}
	}
	return least
}

// costs returns the cost of a byte between each two GPUs, in nanoseconds: by the
// bandwidth of the widest way, as packets are pipelined.
func costs(m *mesh.Mesh) [][]float64 {
	gpus := m.GPUs()
	wide := make([][]float64, gpus)
	for from := range wide {
		wide[from] = make([]float64, gpus)
		for to := range wide[from] {
			for _, h := range m.Direct(from, to) {
				if h.Fabric {
					wide[from][to] = max(wide[from][to], h.GBps)
				}
			}
		}
	}
	for mid := range gpus {
		for from := range gpus {
			for to := range gpus {
				wide[from][to] = max(wide[from][to], min(wide[from][mid], wide[mid][to]))
			}
		}
	}
	cost := wide
	for from, row := range cost {
		for to := range row {
			for _, h := range m.Direct(from, to) {
				row[to] = max(row[to], h.GBps)
			}
			row[to] = min(1/row[to], unreachable)
		}
		row[from] = 0
	}
	return cost
}
