package costmodel

// Interleave returns on which device each unit of a hash table lies that spans the memory of
// several devices, if device i has space for free[i] units: on one device after the other, as far
// as they have space (Fast-IC, section 6.3). nil: all of them have too little.
func Interleave(units int, free []int) []int {
	place := make([]int, 0, units)
	for taken := 0; len(place) < units; taken++ {
		before := len(place)
		for device, n := range free {
			if taken < n && len(place) < units {
				place = append(place, device)
			}
		}
		if len(place) == before {
			return nil
		}
	}
	return place
}

// Locality returns the share of a table's units that lie on a device: of random accesses to the
// table by this device, as many are to its own memory.
func Locality(place []int, device int) float64 {
	own := 0
	for _, d := range place {
		if d == device {
			own++
		}
	}
	return float64(own) / float64(max(len(place), 1))
}
