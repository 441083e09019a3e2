package phj

import (
	"fmt"
	"strings"
)

// Flow is rows of a join that one first pass moves: the build side, or a range of the
// probe side. Several devices that execute a join together have the same flows.
//
// Sending is where one device's first pass stores a flow, mirrored by gj_send in
// kernels/layout/send.h: all slices but Front and Rest are by partition.
type Sending struct {
	To          []uint32   // the devices that get the partition's rows, a bit for each
	Rows        []uint32   // of this device
	Full        []uint32   // of these, rows in whole units
	Front, Rest [][]uint32 // by receiver, then partition: what is added to the number of a row
}

// Arrival is where one device's second pass reads a flow.
type Arrival struct {
	Start, Rows []uint32 // by partition, in the device's buffer of the side
}

// firstAlign is the rows to a multiple of which partitions begin between the passes.
const firstAlign = 32

// Place lays out a flow in the buffers of the devices that receive it. counts are the
// rows of each device by partition, to the sets of devices that get them, by partition
// and device; unit is the rows of a unit of the first pass. next is the first free row of
// each device's buffer, which Place moves on.
//
// Whole units of all senders come first, then what is left of each: so a receiver has
// one piece of each partition, and runs of units are aligned.
func Place(counts [][]int64, to [][]uint64, unit int64, next []int64) ([]Sending, []Arrival) {
	devices, partitions := len(counts), len(to)
	sendings, arrivals := make([]Sending, devices), make([]Arrival, devices)
	for g := range devices {
		sendings[g], arrivals[g] = newSending(counts, to, unit, g), newArrival(partitions)
	}
	for r := range devices {
		for p := range partitions {
			at := next[r]
			arrivals[r].Start[p] = uint32(at)
			for g := range devices {
				if to[p][g]>>r&1 != 0 {
					sendings[g].Front[r][p] = uint32(at)
					at += int64(sendings[g].Full[p])
				}
			}
			for g := range devices {
				if s := &sendings[g]; to[p][g]>>r&1 != 0 {
					s.Rest[r][p] = uint32(at - int64(s.Full[p]))
					at += int64(s.Rows[p] - s.Full[p])
				}
			}
			arrivals[r].Rows[p] = uint32(at - next[r])
			next[r] = (at + firstAlign - 1) / firstAlign * firstAlign
		}
	}
	return sendings, arrivals
}

// newSending returns what device g sends of a flow, without places.
func newSending(counts [][]int64, to [][]uint64, unit int64, g int) (s Sending) {
	l := lists(len(to), 3+2*len(counts))
	s.To, s.Rows, s.Full = l[0], l[1], l[2]
	s.Front, s.Rest = l[3:3+len(counts)], l[3+len(counts):]
	for p := range to {
		s.To[p], s.Rows[p], s.Full[p] = uint32(to[p][g]), uint32(counts[g][p]), uint32(counts[g][p]/unit*unit)
	}
	return s
}

func newArrival(partitions int) Arrival {
	l := lists(partitions, 2)
	return Arrival{Start: l[0], Rows: l[1]}
}

// lists returns n lists by partition.
func lists(partitions, n int) [][]uint32 {
	words, list := make([]uint32, n*partitions), make([][]uint32, n)
	for i := range list {
		list[i] = words[i*partitions:][:partitions:partitions]
	}
	return list
}

// Block is the rows of a flow that one device sends to another one whose memory it does not
// store into: its first pass leaves them, partition by partition, in Rows rows of its own
// buffer, from row From on, and they are copied to row At of the receiver's buffer. A device
// has none for itself.
type Block struct{ From, At, Rows int64 }

// blockAlign is the rows to a multiple of which blocks begin and end: so every stripe of a
// block begins at a multiple of 256 bytes.
const blockAlign = 64

// PlaceBlocks is Place for devices that do not store into each other's memory: the rows of a
// Sending are those of its device's own buffer, where blocks have places, too. Arrivals are
// by receiver and sender, blocks by sender and receiver.
func PlaceBlocks(counts [][]int64, to [][]uint64, unit int64, next []int64) (sendings []Sending, arrivals [][]Arrival, blocks [][]Block) {
	devices, partitions := len(counts), len(to)
	for g := range devices {
		sendings = append(sendings, newSending(counts, to, unit, g))
		arrivals, blocks = append(arrivals, make([]Arrival, devices)), append(blocks, make([]Block, devices))
	}
	for r := range devices {
		for g := range devices {
			s, a, at := &sendings[g], newArrival(partitions), int64(0)
			for p := range partitions {
				a.Start[p] = uint32(next[r] + at)
				if to[p][g]>>r&1 == 0 {
					continue
				}
				a.Rows[p] = s.Rows[p]
				s.Front[r][p] = a.Start[p]
				at += (counts[g][p] + firstAlign - 1) / firstAlign * firstAlign
			}
			arrivals[r][g] = a
			rows := (at + blockAlign - 1) / blockAlign * blockAlign
			if r != g {
				blocks[g][r] = Block{At: next[r], Rows: rows}
			}
			next[r] += rows
		}
	}
	for g := range devices {
		for r := range devices {
			b, s := &blocks[g][r], &sendings[g]
			b.From = next[g]
			next[g] += b.Rows
			for p := range partitions {
				if r != g && to[p][g]>>r&1 != 0 {
					s.Front[r][p] += uint32(b.From - b.At)
				}
			}
			copy(s.Rest[r], s.Front[r]) // both pieces are this sender's
		}
	}
	return sendings, arrivals, blocks
}

// stripeSizes returns the bytes of each stripe of rows of the given words: Lanes in
// kernels/layout/row.cuh.
func stripeSizes(words int) (sizes []int64) {
	if words%2 != 0 {
		sizes = append(sizes, 4)
	}
	if words%4/2 != 0 {
		sizes = append(sizes, 8)
	}
	for range words / 4 {
		sizes = append(sizes, 16)
	}
	return sizes
}

// packedStripeSizes returns the bytes of each stripe of packed rows of the given bytes.
func packedStripeSizes(bytes int) (sizes []int64) {
	for ; bytes > 0; bytes -= stripeBytes {
		sizes = append(sizes, int64(min(bytes, stripeBytes)))
	}
	return sizes
}

// jointBits divides hash bits, at most as many as given, between the passes of a join over
// several devices: the first pass has partitions enough to divide them evenly among the
// devices, and there always is a second one.
func jointBits(buildRows int64, chunkRows, most, mostFirst, mostSecond, devices int) (first, second int) {
	b := min(partitionBits(buildRows, chunkRows), most, mostFirst+mostSecond)
	first = min(max(b/2, b-mostSecond, jointFirst(devices)), mostFirst)
	return first, max(b-first, 1)
}

// jointFirst is the least hash bits of the first pass: eight partitions a device.
func jointFirst(devices int) int {
	first := 3
	for 1<<(first-3) < devices {
		first++
	}
	return first
}

// MaxFlows is the maximum number of ranges of both sides together. A Sender has an event
// and a count for each.
const MaxFlows = 8

// Ranges is how the rows of a side are divided: the relative sizes of its ranges, up to the
// first 0.
type Ranges [MaxFlows]uint8

// Even returns n ranges of the same size, or as many as there may be.
func Even(n int) (r Ranges) {
	for i := range min(n, MaxFlows) {
		r[i] = 1
	}
	return r
}

// Count returns the number of ranges.
func (r Ranges) Count() (n int) {
	for n < len(r) && r[n] > 0 {
		n++
	}
	return n
}

// sum returns the sizes of the first n ranges together.
func (r Ranges) sum(n int) (size int64) {
	for _, s := range r[:n] {
		size += int64(s)
	}
	return size
}

// Ends returns the ends of the ranges of the given rows, which but for the last are multiples
// of 64, where a column's values are aligned as at its begin. If there are few rows, the last
// ranges are empty.
func (r Ranges) Ends(rows int64) []int64 {
	ends := make([]int64, r.Count())
	all := r.sum(len(ends))
	for i := range ends {
		size := r.sum(i + 1)
		ends[i] = min((rows/all*size+rows%all*size/all+63)/64*64, rows)
	}
	return ends
}

// Rows estimates the rows of all ranges by those of the first one.
func (r Ranges) Rows(first int64) int64 { return first * r.sum(r.Count()) / int64(r[0]) }

// First returns about how many of all rows are in the first range.
func (r Ranges) First(rows int64) int64 { return rows * int64(r[0]) / r.sum(r.Count()) }

// String returns the number of ranges if they have the same size, or else their sizes.
func (r Ranges) String() string {
	n := r.Count()
	if r == Even(n) {
		return fmt.Sprint(n)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(r[:n]), " ", ":"), "[]")
}

// SendsColumns reports whether devices that join together send the payload of both sides as
// columns, which a first pass stores in the memory of other devices as fast as it reads them. It
// stores fields and packed values more slowly.
func SendsColumns(keyBytes int, widths [2][]int) bool {
	s, _ := shapes(keyBytes/4, widths, [2]mode{carry, carry})
	return s[0].form == columns && s[1].form == columns
}

// roundUp returns the least multiple of a number that is not below n.
func roundUp(n, to int64) uint64 { return uint64((n + to - 1) / to * to) }
