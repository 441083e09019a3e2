package op

import (
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

func TestRadixBits(t *testing.T) {
	const chunk = 3840
	for _, fan := range []int{128, 256} {
		for rows := int64(1); rows < 1<<33; rows = rows*3/2 + 1 {
			for wanted := range 20 {
				first, second := radixBits(rows, chunk, fan, wanted)
				if 1<<first > fan || second > maxPassBits || second > 0 && first == 0 {
					t.Fatalf("%d rows, fan %d, %d wanted: %d and %d bits", rows, fan, wanted, first, second)
				}
				if total := first + second; wanted > 0 && total != wanted && total < 15 {
					t.Errorf("%d rows, fan %d: %d bits in place of %d", rows, fan, total, wanted)
				}
				if fill := rows >> (first + second); wanted == 0 && first > 0 && first+second < 15 && (fill > chunk*4/5 || fill < chunk*2/5) {
					t.Errorf("%d rows, fan %d: partitions of %d rows", rows, fan, fill)
				}
			}
		}
	}
}

func TestRangesAreWholeGroups(t *testing.T) {
	for probe := int64(0); probe < 1<<33; probe = probe*2 + 1 {
		if r := rangeRows(probe, 264); r%32 != 0 || r < 1<<10 || r > 1<<15 {
			t.Errorf("%d probe rows: ranges of %d", probe, r)
		}
	}
}

func TestKeyWords(t *testing.T) {
	part := func(bits int) device.KeyPart { return device.KeyPart{Class: joincore.KeyInt, Bits: bits} }
	for _, c := range []struct {
		key  device.Key
		want int
	}{
		{device.Key{Exact: true}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(32)}}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(16), part(16)}}, 1},
		{device.Key{Exact: true, Parts: []device.KeyPart{part(32), part(8)}}, 2},
		{device.Key{Parts: []device.KeyPart{part(65)}}, 2},
	} {
		if got := keyWords(&c.key); got != c.want {
			t.Errorf("%+v: %d words", c.key, got)
		}
	}
}

func TestRegions(t *testing.T) {
	for _, c := range []struct{ wanted, free, want int64 }{
		{0, 1 << 40, defaultRegion}, {0, 1 << 20, 1 << 15}, {1 << 12, 1 << 40, 1 << 12}, {1 << 30, 1 << 30, 1 << 25}, {1, 1 << 40, smallestRegion}, {0, 0, smallestRegion},
	} {
		if got := regionRows(c.wanted, c.free); got != c.want {
			t.Errorf("%d wanted of %d bytes: %d rows", c.wanted, c.free, got)
		}
	}
}
