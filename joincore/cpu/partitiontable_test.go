package cpu

import (
	"math/rand/v2"
	"testing"

	"gpujoin/joincore/device"
)

// TestPartitionTable: the table of a partition has each of its rows in the chain of
// its key, and no other row, whether keys repeat or not, and also if the partition
// has far more rows than the mean and its table has to grow.
func TestPartitionTable(t *testing.T) {
	const n = 3 * growFrom
	random := rand.New(rand.NewPCG(1, 2))
	for name, key := range map[string]func(i int) int64{
		"distinct": func(i int) int64 { return int64(uint64(i) * 0x9e3779b97f4a7c15) },
		"repeated": func(int) int64 { return random.Int64N(n/2) << 20 },
		"one key":  func(int) int64 { return -1 },
		"one key and distinct ones": func(i int) int64 {
			return int64(i) << 40 * int64(i&1)
		},
	} {
		for _, rows := range []int{1, 63, 64, 65, n} {
			for _, bits := range []int{1, 4, 11} {
				d := openDev(t, 1, 64)
				in, want := make([]keyedRow, rows), map[int64]int{}
				for i := range in {
					in[i] = keyedRow{key: key(i), row: int32(i)}
					want[in[i].key]++
				}
				from := importRows(t, d, 0, in, rows)
				parts, err := d.Partition(t.Context(), from, device.TransformSpec{Key: keyOf(0), Bits: bits})
				if err != nil {
					t.Fatal(err)
				}
				checkPartitionTables(t, name, d, asSpace(parts), want)
				parts.Release()
				d.Close()
			}
		}
	}
}

// checkPartitionTables looks up every key in the tables of all partitions.
func checkPartitionTables(t *testing.T, name string, d *dev, parts *space, want map[int64]int) {
	t.Helper()
	st := d.newStream()
	defer st.Close()
	stored := parts.keys.v64[0]
	seen := map[int64]int{}
	for p := range len(parts.bounds) - 2 {
		built, err := st.BuildPartition(t.Context(), parts, p, &device.Match{Build: keyOf(0)})
		if err != nil {
			t.Fatal(err)
		}
		table, keys := built.(*table), stored[parts.bounds[p]:parts.bounds[p+1]]
		checked := map[uint64]bool{}
		for i, head := range table.heads(keys) {
			if checked[keys[i]] {
				continue
			}
			checked[keys[i]] = true
			for _, row := range table.follow(head) {
				if stored[row] != keys[i] {
					t.Fatalf("%s: key %#x: row %d has %#x", name, keys[i], row, stored[row])
				}
				seen[int64(keys[i])]++
			}
		}
		absent := []uint64{1 << 62, 1<<62 + 1}
		for i, head := range table.heads(absent) {
			if head != 0 {
				t.Fatalf("%s: key %#x is not there, but has head %d", name, absent[i], head)
			}
		}
	}
	for key, n := range want {
		if seen[key] != n {
			t.Fatalf("%s: key %#x: %d rows, want %d", name, key, seen[key], n)
		}
	}
}
