package rowid

import "testing"

// TestTablesFollowGroups: whatever number of groups is expected, tables grow until all
// groups fit, are never much larger than these need, and leave space for the next one.
func TestTablesFollowGroups(t *testing.T) {
	const slotBytes = 200
	for _, expected := range []int64{0, 1, 700_000, 1 << 40} {
		for groups := int64(1); groups < 1<<27; groups = groups*5/3 + 1 {
			for _, memory := range []int64{64 << 20, 1 << 30, 64 << 30} {
				slots := firstSlots(expected, slotBytes, memory)
				for groupsWithin(slots) < groups {
					free := memory - slots*slotBytes
					next := nextSlots(slots, groups, slotBytes, free)
					if next <= slots || next&(next-1) != 0 {
						t.Fatalf("%d groups, %d expected: %d slots after %d", groups, expected, next, slots)
					}
					if next > 2*slots && next*slotBytes > free/wantedPart {
						t.Fatalf("%d groups: %d slots take more than their part of %d bytes", groups, next, free)
					}
					slots = next
				}
				if slots > max(4*groups, 2*min(2*expected, mostFirstSlots), leastGroupSlots) {
					t.Errorf("%d groups, %d expected: %d slots", groups, expected, slots)
				}
			}
		}
	}
}

// TestTableWithinMemory: 700,000 groups of 22 words of counts and two of keys fit a
// device of 700 MiB, whether they are expected or not.
func TestTableWithinMemory(t *testing.T) {
	const groups, slotBytes, memory = 700_000, 8*22 + 8*2 + 4, 700 << 20
	for _, expected := range []int64{0, groups, 100 * groups} {
		slots := firstSlots(expected, slotBytes, memory)
		for groupsWithin(slots) < groups {
			next := nextSlots(slots, groups, slotBytes, memory-slots*slotBytes)
			if (slots+next)*slotBytes > memory {
				t.Fatalf("%d expected: %d slots after %d do not fit", expected, next, slots)
			}
			slots = next
		}
	}
}
