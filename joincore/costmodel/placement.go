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

// OnHost is where units of a hash table are that lie in page-locked memory of the host.
const OnHost = -1

// Greedy returns on which device each unit of a hash table lies, if device i has space for free[i]
// units: on one device after the other, as far as they have space, and on the host beyond (Fast-IC,
// section 5.3).
func Greedy(units int, free []int) []int {
	space := 0
	for _, n := range free {
		space += max(n, 0)
	}
	place := Interleave(min(units, space), free)
	for len(place) < units {
		place = append(place, OnHost)
	}
	return place
}

// HostedRate returns the rate of random reads of a hash table of which a share lies in device memory and the
// rest on the host, from the rates of reads of either alone: the time of a read is the mean of theirs.
func HostedRate(share, device, host float64) float64 {
	return 1 / (share/device + (1-share)/host)
}

// MeanRate returns the same as Fast-IC predicts it (section 5.3): the mean of the rates. It is what they would be
// if reads of one memory did not wait for those of the other.
func MeanRate(share, device, host float64) float64 {
	return share*device + (1-share)*host
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
