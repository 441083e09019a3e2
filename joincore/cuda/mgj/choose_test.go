package mgj

import (
	"slices"
	"testing"

	"gpujoin/joincore/costmodel"
)

func sides(build, probe int64, columns int) costmodel.Resident {
	w := slices.Repeat([]int{4}, columns)
	return costmodel.Resident{KeyBytes: 4, Rows: [2]int64{build, probe}, Payload: [2][]int{w, w}, MatchRatio: 1, ResultRows: probe}
}

// repeated returns a join of 2^24 with 2^24 rows without payload, whose build keys have the given
// number of rows.
func repeated(duplicates int64) costmodel.Resident {
	j := sides(1<<24, 1<<24, 0)
	j.ResultRows = j.Rows[1] * duplicates
	return j
}

func TestChoose(t *testing.T) {
	rates := &costmodel.DefaultDeviceRates
	for _, c := range []struct {
		name    string
		join    costmodel.Resident
		devices int
		gbps    float64
		want    Strategy
	}{
		{"large", sides(1<<27, 1<<28, 2), 2, 390, Exchange},
		{"large, eight devices", sides(1<<27, 1<<28, 2), 8, 390, Exchange},
		{"one device", sides(1<<27, 1<<28, 2), 1, 390, Alone},
		{"a slow link", sides(1<<27, 1<<28, 2), 2, 5, Alone},
		{"small", sides(1<<20, 1<<21, 2), 2, 390, Alone},
		{"a few milliseconds", sides(1<<24, 1<<25, 2), 8, 390, Exchange},
		{"half a millisecond", sides(1<<22, 1<<23, 2), 2, 390, Alone},
		{"a millisecond", sides(1<<23, 1<<24, 2), 2, 390, Replicate},
		{"a build side of a sixteenth", sides(1<<24, 1<<28, 2), 2, 390, Replicate},
		{"a small build side", sides(1<<20, 1<<28, 2), 2, 390, Replicate},
		{"16 rows of each build key", repeated(16), 2, 375, Exchange},
		{"64 rows of each build key", repeated(64), 2, 375, Exchange},
		{"payload that is packed", sides(1<<26, 1<<27, 12), 2, 390, Exchange},
		{"payload that no kernel carries or packs", sides(1<<24, 1<<25, 200), 2, 390, Alone},
	} {
		if got := Choose(rates, c.join, c.devices, c.gbps); got.Strategy != c.want || got.MS <= 0 {
			t.Errorf("%s: %v in place of %v", c.name, got, c.want)
		}
	}
}

// The predicted time grows with the rows, whatever is chosen; from some size on, joins are
// executed over several GPUs, and at all larger sizes.
func TestChooseBySize(t *testing.T) {
	wide := slices.Repeat([]int{8}, 16)
	for _, payload := range [][2][]int{{{4}, {4}}, {{4, 4}, {4, 4}}, {wide, {4}}, {{4}, wide}} {
		for _, keyBytes := range []int{4, 8} {
			for _, ratio := range []int64{1, 2, 16, 256} { // probe rows for each build row
				for _, devices := range []int{2, 3, 8} {
					j := costmodel.Resident{KeyBytes: keyBytes, Payload: payload, MatchRatio: 1}
					var before Choice
					for rows := int64(1 << 10); rows <= 1<<31; rows *= 2 {
						j.Rows, j.ResultRows = [2]int64{max(rows/ratio, 1), rows}, rows
						c := Choose(&costmodel.DefaultDeviceRates, j, devices, 375)
						one := Choose(&costmodel.DefaultDeviceRates, j, 1, 375)
						if c.MS < before.MS || c.MS > one.MS || before.MS > 0 && before.Strategy != Alone && c.Strategy == Alone {
							t.Errorf("%d+%d columns, %d of %d rows on %d GPUs: %v in %.2f ms, on one in %.2f; half of them %v in %.2f",
								len(payload[0]), len(payload[1]), j.Rows[0], rows, devices, c.Strategy, c.MS, one.MS, before.Strategy, before.MS)
						}
						before = c
					}
					if before.Strategy == Alone {
						t.Errorf("%d+%d columns, ratio %d: large joins on one of %d GPUs", len(payload[0]), len(payload[1]), ratio, devices)
					}
				}
			}
		}
	}
}
