package phj

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every row that a sender numbers has one place in each receiver's buffer, no place is
// taken twice, a receiver's rows of a partition lie in one piece without gaps, and whole
// units begin at multiples of the unit.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		devices, partitions := 1+r.IntN(8), 1<<r.IntN(6)
		unit := int64(1) << r.IntN(4)
		flows := 1 + r.IntN(3)
		next := make([]int64, devices)
		taken := make([]map[uint32]bool, devices)
		for g := range taken {
			taken[g] = map[uint32]bool{}
		}
		for range flows {
			counts, to := make([][]int64, devices), make([][]uint64, partitions)
			for g := range counts {
				for range partitions {
					counts[g] = append(counts[g], int64(r.IntN(40))*int64(r.IntN(2)))
				}
			}
			for p := range to {
				for range devices {
					to[p] = append(to[p], r.Uint64()&(1<<devices-1))
				}
			}
			before := slices.Clone(next)
			sendings, arrivals := Place(counts, to, unit, next)
			for receiver := range devices {
				for p := range partitions {
					if err := placed(receiver, p, counts, to, unit, sendings, arrivals[receiver], taken[receiver]); err != nil {
						t.Fatal(err)
					}
					end := int64(arrivals[receiver].Start[p] + arrivals[receiver].Rows[p])
					if int64(arrivals[receiver].Start[p]) < before[receiver] || end > next[receiver] {
						t.Fatalf("partition %d at %d to %d, outside of %d to %d", p, arrivals[receiver].Start[p], end, before[receiver], next[receiver])
					}
				}
			}
		}
	}
}

// The rows of a block are numbered from 0 without two at one place, and lie behind it at
// the receiver where its second pass finds them; blocks do not overlap there.
func TestPlaceBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		devices, partitions := 1+r.IntN(8), 1<<r.IntN(6)
		unit := int64(1) << r.IntN(4)
		next := make([]int64, devices)
		taken := make([]map[uint32]bool, devices)
		for g := range taken {
			taken[g] = map[uint32]bool{}
		}
		for range 1 + r.IntN(3) {
			counts, to := make([][]int64, devices), make([][]uint64, partitions)
			for g := range counts {
				for range partitions {
					counts[g] = append(counts[g], int64(r.IntN(40))*int64(r.IntN(2)))
				}
			}
			for p := range to {
				for range devices {
					to[p] = append(to[p], r.Uint64()&(1<<devices-1))
				}
			}
			sendings, arrivals, blocks := PlaceBlocks(counts, to, unit, next)
			for receiver := range devices {
				for sender := range devices {
					b := blocks[sender][receiver]
					if b.At%blockAlign != 0 || b.Rows%blockAlign != 0 || b.From%blockAlign != 0 || sender == receiver && b.Rows != 0 || b.At+b.Rows > next[receiver] || b.From+b.Rows > next[sender] {
						t.Fatalf("block %+v of %d rows from %d to %d", b, next[receiver], sender, receiver)
					}
					for row := range b.Rows {
						if at := uint32(b.From + row); taken[sender][at] {
							t.Fatalf("row %d of a block at %d is taken", row, at)
						}
						taken[sender][uint32(b.From+row)] = true
					}
					s, a := sendings[sender], arrivals[receiver][sender]
					for p := range partitions {
						if to[p][sender]>>receiver&1 == 0 {
							if a.Rows[p] != 0 {
								t.Fatalf("%d rows of partition %d, which is not sent", a.Rows[p], p)
							}
							continue
						}
						if int64(a.Rows[p]) != counts[sender][p] || a.Start[p]%firstAlign != 0 || s.Full[p] > 0 && int64(s.Front[receiver][p])%unit != 0 {
							t.Fatalf("partition %d: %d rows of %d from %d, units from %d", p, a.Rows[p], counts[sender][p], a.Start[p], s.Front[receiver][p])
						}
						for row := range s.Rows[p] {
							at := row + s.Front[receiver][p]
							if row >= s.Full[p] {
								at = row + s.Rest[receiver][p]
							}
							if sender != receiver {
								if int64(at) < b.From || int64(at) >= b.From+b.Rows {
									t.Fatalf("row %d of a block of %d from %d", at, b.Rows, b.From)
								}
								at += uint32(b.At - b.From)
							}
							if at < a.Start[p] || at >= a.Start[p]+a.Rows[p] || int64(at) >= next[receiver] || taken[receiver][at] {
								t.Fatalf("row %d of partition %d at %d, taken: %v", row, p, at, taken[receiver][at])
							}
							taken[receiver][at] = true
						}
					}
				}
			}
		}
	}
}

// Stripes hold all words of a row, as kernels/layout/row.cuh and join.h lay them out.
func TestStripeSizes(t *testing.T) {
	for words, want := range map[int][]int64{1: {4}, 2: {8}, 3: {4, 8}, 4: {16}, 5: {4, 16}, 10: {8, 16, 16}} {
		if got := stripeSizes(words); !slices.Equal(got, want) {
			t.Errorf("%d words: %v in place of %v", words, got, want)
		}
	}
	for bytes, want := range map[int][]int64{4: {4}, 64: {64}, 68: {64, 4}, 144: {64, 64, 16}} {
		if got := packedStripeSizes(bytes); !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v in place of %v", bytes, got, want)
		}
	}
}

func placed(receiver, p int, counts [][]int64, to [][]uint64, unit int64, sendings []Sending, a Arrival, taken map[uint32]bool) error {
	rows := uint32(0)
	for g := range counts {
		s := sendings[g]
		if int64(s.Rows[p]) != counts[g][p] || s.To[p] != uint32(to[p][g]) || int64(s.Full[p]) != counts[g][p]/unit*unit {
			return fmt.Errorf("device %d sends %d rows, %d in whole units, to %b", g, s.Rows[p], s.Full[p], s.To[p])
		}
		if s.To[p]>>receiver&1 == 0 {
			continue
		}
		if s.Full[p] > 0 && int64(s.Front[receiver][p])%unit != 0 {
			return fmt.Errorf("units of %d rows begin at %d", unit, s.Front[receiver][p])
		}
		for row := range s.Rows[p] {
			at := row + s.Front[receiver][p]
			if row >= s.Full[p] {
				at = row + s.Rest[receiver][p]
			}
			if at < a.Start[p] || at >= a.Start[p]+a.Rows[p] || taken[at] {
				return fmt.Errorf("row %d of %d at %d, taken: %v", row, s.Rows[p], at, taken[at])
			}
			taken[at] = true
			rows++
		}
	}
	if rows != a.Rows[p] || a.Start[p]%firstAlign != 0 {
		return fmt.Errorf("%d rows of %d, from %d", rows, a.Rows[p], a.Start[p])
	}
	return nil
}

// The first pass has enough partitions for all devices, and there is a second one.
func TestJointBits(t *testing.T) {
	for _, devices := range []int{1, 2, 3, 8, 16} {
		for _, rows := range []int64{0, 1, 1 << 20, 1 << 27, 1 << 31} {
			for _, most := range []int{7, 8} {
				first, second := jointBits(rows, 4608, maxBits, most, 8, devices)
				if first < min(most, 3) || 1<<first < 8*devices && first < most || first > most || second < 1 || second > 8 {
					t.Errorf("%d rows, %d devices: %d and %d bits", rows, devices, first, second)
				}
				if want := min(partitionBits(rows, 4608), most+8); first+second < want {
					t.Errorf("%d rows, %d devices: %d and %d bits are fewer than %d", rows, devices, first, second, want)
				}
				if first, second := jointBits(rows, 4608, 11, most, 8, devices); first+second > 11 {
					t.Errorf("%d rows, %d devices: %d and %d bits are more than 11", rows, devices, first, second)
				}
			}
		}
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		rows   int64
		ranges Ranges
		want   []int64
	}{
		{0, Even(3), []int64{0, 0, 0}}, {1, Even(3), []int64{0, 0, 1}}, {64, Even(1), []int64{64}}, {65, Even(2), []int64{64, 65}},
		{129, Even(2), []int64{64, 129}}, {1000, Even(3), []int64{384, 704, 1000}}, {1 << 28, Even(4), []int64{1 << 26, 2 << 26, 3 << 26, 4 << 26}},
		{6000, Ranges{1, 2, 3}, []int64{1024, 3008, 6000}}, {1<<62 + 1, Ranges{1, 1}, []int64{1 << 61, 1<<62 + 1}},
		{800, Even(9), []int64{128, 256, 320, 448, 512, 640, 704, 800}},
	} {
		if got := c.ranges.Ends(c.rows); !slices.Equal(got, c.want) {
			t.Errorf("%d rows in ranges %v: %v in place of %v", c.rows, c.ranges, got, c.want)
		}
	}
}

func TestRangesAreEstimatedByTheFirst(t *testing.T) {
	r := Ranges{2, 3, 5}
	if all, first := r.Rows(20), r.First(100); all != 100 || first != 20 || r.Count() != 3 {
		t.Errorf("%d rows, %d in the first of %d ranges", all, first, r.Count())
	}
	for want, r := range map[string]Ranges{"0": {}, "3": Even(3), "2:3:5": r, "1": Even(1)} {
		if got := r.String(); got != want {
			t.Errorf("%s in place of %s", got, want)
		}
	}
}
