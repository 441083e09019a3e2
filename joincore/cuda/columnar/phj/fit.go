package phj

import "slices"

// fit returns the shapes and modes for the wanted modes if they are within the bound,
// else those that need the least memory.
func (v volume) fit(wanted [2]mode) ([2]shape, [2]mode) {
	s, m := shapes(v.keyBytes/4, v.widths, wanted)
	least := v.peak(s, m)
	if least <= v.bound() {
		return s, m
	}
	carried := carriedIn(wanted)
	packed := [][2]mode{{pack, carried[1]}, {carried[0], pack}}
	if packedBytes(v.widths[1]) > packedBytes(v.widths[0]) {
		slices.Reverse(packed)
	}
	for _, other := range append(append([][2]mode{carried}, packed...), [2]mode{pack, pack}, [2]mode{rowID, carried[1]}, [2]mode{carried[0], rowID}, [2]mode{rowID, rowID}) {
		so, mo := shapes(v.keyBytes/4, v.widths, other)
		if p := v.peak(so, mo); p < least {
			least, s, m = p, so, mo
			if p <= v.bound() {
				break
			}
		}
	}
	return s, m
}

// carriedIn returns the modes with placed sides carried instead.
func carriedIn(modes [2]mode) [2]mode {
	for i := range modes {
		if modes[i] == place {
			modes[i] = carry
		}
	}
	return modes
}
