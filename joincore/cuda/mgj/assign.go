package mgj

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// Strategy is how rows meet.
type Strategy int

const (
	// Exchange moves each partition to one GPU that joins it. If one side of it is so small
	// that copies save much traffic, its rows are copied to the GPUs that have rows of the other
	// side, which stay (selective broadcast). If a hot key has made a partition so large that
	// its GPU would have most of the work, its build rows are copied to all GPUs.
	Exchange Strategy = iota
	// Replicate copies the build side to all GPUs. Probe rows stay.
	Replicate
	// Alone has one GPU join, the one with most rows.
	Alone
)

// String returns the strategy's name.
func (s Strategy) String() string {
	return [...]string{Exchange: "exchange", Replicate: "replicate", Alone: "alone"}[s]
}

// Way is how rows get to the GPUs that join them.
type Way int

const (
	// WayFastest is WayCopy where that is faster and memory suffices, else WayStore.
	WayFastest Way = iota
	// WayStore has the first pass store rows into the memory of the GPUs that join them.
	WayStore
	// WayCopy has it leave rows for another GPU in its own memory, which a copy engine copies.
	WayCopy
)

// Bypass says when the probe side is sampled for hot keys.
type Bypass int

const (
	// BypassLarge samples a probe side that is large enough for a sample to pay, in an
	// exchange whose first ranges are so uneven that some keys may be hot.
	BypassLarge Bypass = iota
	// BypassAlways samples each one with enough rows for a sample.
	BypassAlways
	// BypassNever samples none.
	BypassNever
)

// leastHot is the part of the probe rows whose keys have to be hot: the others are copied
// before they are sent, and all build rows are partitioned and sent in any case.
const leastHot = 0.5

// leastRepeated is the part of a sample's keys that have to be repeated in an eighth of it,
// before all are looked at.
const leastRepeated = 0.8 * leastHot

// slack is how many more rows than the mean a GPU may join to save traffic.
const slack = 0.01

// worth is how many bytes the copies of a small side save on links, at least, for each byte of
// its rows that is joined once more. Passes and match read and write such a row three times, in
// memory that is about ten times as fast as the links: so they pay even if passes hide half of
// what they save. Rows that lie evenly on two GPUs are copied if the other side has more than 17
// times as many.
const worth = costmodel.CopiesWorth

// room is the memory that GPUs have for the rows that they join.
type room struct {
	held [2]int64 // what a row of each side takes, in bytes
	free []int64  // by GPU
}

// assignment says where the rows of a join go.
type assignment struct {
	to     [2][][]uint64 // the sets of GPUs that get rows, by side, partition and GPU
	copied int           // partitions of which a small side is copied
	bytes  int64         // that are sent, if the counts are exact
}

// assign decides where rows go. h are the rows of the sides, width is the bytes of a row of each
// side, fullest the GPU with most rows. Rows of small sides are copied as far as there is room for
// them; nil: none are.
func (s Strategy) assign(h exchange.Histograms, m *mesh.Mesh, width [2]int64, fullest int, r *room) (a assignment, err error) {
	gpus, partitions := len(h[0]), len(h[0][0])
	whole := slices.Repeat([]bool{true}, partitions) // that are not assigned one by one
	if s == Exchange {
		whole = hotPartitions(h)
		each, err := assignEach(h, whole, m, width, r)
		if err != nil {
			return a, fmt.Errorf("mgj: %w", err)
		}
		a.to = each.To
		if r != nil {
			a.copied = broadcast(a.to)
		}
	}
	for side := range a.to {
		if a.to[side] == nil {
			a.to[side] = make([][]uint64, partitions)
		}
		for p := range partitions {
			if !whole[p] {
				continue
			}
			a.to[side][p] = make([]uint64, gpus)
			for g := range gpus {
				switch {
				case s == Alone:
					a.to[side][p][g] = 1 << fullest
				case side == int(exchange.Build):
					a.to[side][p][g] = 1<<gpus - 1
				default:
					a.to[side][p][g] = 1 << g
				}
			}
		}
		a.bytes += crossing(h[side], a.to[side]) * width[side]
	}
	if a.copied > 0 {
		err = meetOnce(a.to)
	}
	return a, err
}

// assignEach assigns the partitions that are not marked. If memory is too short for a bound to be
// kept, nothing is copied, and the join finds out by exact counts whether it fits.
func assignEach(h exchange.Histograms, marked []bool, m *mesh.Mesh, width [2]int64, r *room) (*exchange.Assignment, error) {
	left, l := without(h, marked), exchange.Limits{Width: width, Slack: slack}
	if r == nil {
		return exchange.Assign(left, m, l)
	}
	bound := l
	bound.Copy, bound.Worth = [2]bool{true, true}, worth
	bound.Held, bound.Free = r.held, r.without(h, marked)
	a, err := exchange.Assign(left, m, bound)
	if errors.Is(err, exchange.ErrMemory) {
		return exchange.Assign(left, m, l)
	}
	return a, err
}

// without returns the memory that the marked partitions leave, whose build rows are copied to
// all GPUs, and whose probe rows stay.
func (r *room) without(h exchange.Histograms, marked []bool) []int64 {
	free := slices.Clone(r.free)
	for p, m := range marked {
		if !m {
			continue
		}
		build := int64(0)
		for _, counts := range h[exchange.Build] {
			build += counts[p]
		}
		for g := range free {
			free[g] -= build*r.held[exchange.Build] + h[exchange.Probe][g][p]*r.held[exchange.Probe]
		}
	}
	return free
}

// broadcast returns the number of partitions of which rows go to several GPUs.
func broadcast(to [2][][]uint64) (n int) {
	several := func(set uint64) bool { return set&(set-1) != 0 }
	for p := range to[0] {
		if slices.ContainsFunc(to[0][p], several) || slices.ContainsFunc(to[1][p], several) {
			n++
		}
	}
	return n
}

// meetOnce returns an error if rows of a partition meet on two GPUs or on none: an inner join would
// return a row twice or not at all. So of each partition one side at most is copied.
func meetOnce(to [2][][]uint64) error {
	for p, build := range to[exchange.Build] {
		for i, b := range build {
			for k, probe := range to[exchange.Probe][p] {
				if b != 0 && probe != 0 && bits.OnesCount64(b&probe) != 1 {
					return fmt.Errorf("mgj: rows of partition %d on GPUs %d and %d meet on the GPUs %b", p, i, k, b&probe)
				}
			}
		}
	}
	return nil
}

// hotPartitions marks partitions whose probe side alone is half of what a GPU is to join,
// and larger than the build side copied to all of them.
func hotPartitions(h exchange.Histograms) []bool {
	gpus := int64(len(h[0]))
	build, all := sums(h[exchange.Build])
	probe, more := sums(h[exchange.Probe])
	all += more
	hot := make([]bool, len(build))
	for p := range hot {
		hot[p] = gpus > 1 && probe[p] > all/(2*gpus) && probe[p] > build[p]*gpus
	}
	return hot
}

// sums adds up rows, counted by GPU and partition: by partition, and all.
func sums(counts [][]int64) (rows []int64, all int64) {
	rows = make([]int64, len(counts[0]))
	for _, list := range counts {
		for p, n := range list {
			rows[p] += n
			all += n
		}
	}
	return rows, all
}

// without returns histograms without the marked partitions.
func without(h exchange.Histograms, marked []bool) (left exchange.Histograms) {
	if !slices.Contains(marked, true) {
		return h
	}
	for side := range h {
		for _, counts := range h[side] {
			list := slices.Clone(counts)
			for p := range list {
				if marked[p] {
					list[p] = 0
				}
			}
			left[side] = append(left[side], list)
		}
	}
	return left
}

// estimated returns the rows of all ranges by those of the first one. A partition that is
// empty there may have rows in others, which have to be sent somewhere.
func estimated(first []int64, ranges phj.Ranges) []int64 {
	if ranges.Count() == 1 {
		return first
	}
	rows := make([]int64, len(first))
	for p, n := range first {
		rows[p] = ranges.Rows(n) + 1
	}
	return rows
}

// splitHot estimates how many of a GPU's rows have a hot key, by those of its sample.
func splitHot(rows int64, hot, sampled int) (hotRows, cold int64) {
	if sampled == 0 {
		return 0, rows
	}
	hotRows = int64(float64(rows) * float64(hot) / float64(sampled))
	return hotRows, rows - hotRows
}

// evenRows returns the rows of a range, by partition, of a side whose keys are all rare. Each
// partition may have rows, which have to be sent somewhere.
func evenRows(rows int64, partitions int) []int64 {
	return slices.Repeat([]int64{rows/int64(partitions) + 1}, partitions)
}

// skewed reports whether most rows, counted by GPU and partition, may have hot keys: those
// above twice the mean of a partition.
func skewed(counts [][]int64) bool {
	rows, all := sums(counts)
	above := int64(0)
	for _, n := range rows {
		above += max(0, n-2*all/int64(len(rows)))
	}
	return float64(above) >= leastRepeated*float64(all) && all > 0
}

// dropUnmatched has no probe rows sent anywhere of partitions without build rows. flows are
// the build side's rows by flow, GPU and partition.
func dropUnmatched(to [2][][]uint64, flows [][][]int64) {
	for p := range to[exchange.Probe] {
		if !slices.ContainsFunc(flows, func(gpus [][]int64) bool {
			return slices.ContainsFunc(gpus, func(counts []int64) bool { return counts[p] > 0 })
		}) {
			clear(to[exchange.Probe][p])
		}
	}
}

// received returns the rows that each GPU gets of a flow.
func received(counts [][]int64, to [][]uint64) []int64 {
	rows := make([]int64, len(counts))
	for from, list := range counts {
		for r := range rows {
			rows[r] += receivedOf(list, to, from, r)
		}
	}
	return rows
}

// receivedOf returns the rows of a flow that a GPU gets of one that has the given rows by
// partition.
func receivedOf(counts []int64, to [][]uint64, from, receiver int) (rows int64) {
	for p, n := range counts {
		if to[p][from]>>receiver&1 != 0 {
			rows += n
		}
	}
	return rows
}

// crossing returns how many rows of a flow go to another GPU.
func crossing(counts [][]int64, to [][]uint64) (rows int64) {
	for from, list := range counts {
		for p, n := range list {
			rows += n * int64(bits.OnesCount64(to[p][from]&^(1<<from)))
		}
	}
	return rows
}

// outputRows returns the expected result of GPU i, of a result of all, by the probe rows
// that each GPU joins. A result that turns out larger costs a second match, so there is
// some to spare.
func outputRows(all int64, i int, probe []int64) int64 {
	total := int64(0)
	for _, n := range probe {
		total += n
	}
	if total == 0 {
		return 0
	}
	rows := partOf(all, probe[i], total)
	return rows + rows/64 + 4096
}

// shares returns numbers of rows by GPU that are in proportion to the result's rows on each: the
// probe rows that it joins and, of a partition whose probe rows are copied, the part of them that
// it has of the partition's build rows. build and probe are counts by flow, GPU and partition.
func shares(build, probe [][][]int64, to [2][][]uint64) []int64 {
	rows := make([]int64, len(probe[0]))
	for p, sets := range to[exchange.Probe] {
		several := slices.ContainsFunc(sets, func(set uint64) bool { return set&(set-1) != 0 })
		own, all := make([]int64, len(rows)), int64(0) // build rows of the partition
		if several {
			for _, counts := range build {
				for from, list := range counts {
					for set := to[exchange.Build][p][from]; set != 0; set &= set - 1 {
						own[bits.TrailingZeros64(set)] += list[p]
						all += list[p]
					}
				}
			}
		}
		for _, counts := range probe {
			for from, list := range counts {
				for set := sets[from]; set != 0; set &= set - 1 {
					g, n := bits.TrailingZeros64(set), list[p]
					if several {
						n = partOf(n, own[g], all)
					}
					rows[g] += n
				}
			}
		}
	}
	return rows
}

// partOf returns how many of all rows a part of a whole has, rounded down. A part larger than
// the whole has all of them.
func partOf(all, part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(max(all, 0)), uint64(max(min(part, whole), 0)))
	rows, _ := bits.Div64(high, low, uint64(whole))
	return int64(rows)
}

// leastCopied and leastReplicated are how many bytes a GPU sends to others, at least, in an
// exchange and of a build side, if they are copied.
const leastCopied, leastReplicated = 192 << 20, 64 << 20

// fastMemory reports whether memory is so much faster than links, both in GB/s, that copying
// columns of an exchange pays: an H200's is 13 times faster, an H100's 9 times.
func fastMemory(memory, links float64) bool { return memory >= 11*links }

// copiesPay reports whether copies of rows are faster than stores. Stores begin earlier, and
// wait for the links; copies read and write memory once more, but ordinary first passes precede
// them. What is replicated takes links only for a while.
//
// sent is about how many bytes of each side a GPU sends to others in an exchange. columns says
// whether rows consist of columns or of row ids, and fast is what fastMemory returns.
func (s Strategy) copiesPay(gpus int, sent [2]int64, columns, fast bool) bool {
	switch s {
	case Exchange:
		return !columns || fast && sent[0]+sent[1] >= leastCopied
	case Replicate:
		return sent[0]*int64(gpus) >= leastReplicated
	}
	return false
}
