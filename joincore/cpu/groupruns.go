package cpu

// Where there are few groups, rows of one group follow each other so closely
// that each addition waits for the one before it to reach memory. The rows of a
// chunk are then ordered by group first, and each group's are summed up in
// registers.

// fewGroups is up to how many groups that is worth it, and fewFunctions from how
// many functions on.
const (
	fewGroups    = 32
	fewFunctions = 3
)

// runs are the rows of a chunk in the order of their groups.
type runs struct {
	order []uint32
	ends  [fewGroups + 2]uint32 // of group g: where its rows end
}

// arrange orders the rows by group.
func (o *runs) arrange(group []uint32) {
	if cap(o.order) < len(group) {
		o.order = make([]uint32, len(group))
	}
	o.order = o.order[:len(group)]
	o.ends = [fewGroups + 2]uint32{}
	for _, g := range group {
		o.ends[g%uint32(len(o.ends))]++
	}
	at := uint32(0)
	for g, n := range o.ends {
		o.ends[g] = at
		at += n
	}
	for i, g := range group {
		end := &o.ends[g%uint32(len(o.ends))]
		o.order[*end] = uint32(i)
		*end++
	}
}

// each calls f with the rows of each group that has some.
func (o *runs) each(groups int, f func(g uint32, rows []uint32)) {
	from := o.ends[0]
	for g := 1; g <= groups; g++ {
		if end := o.ends[g]; end > from {
			f(uint32(g), o.order[from:end])
			from = end
		}
	}
}

// sumFew adds values without a mask to the sums of few groups.
func (t *groupTable) sumFew(f *function, o *runs, v []uint64) error {
	low, high := t.c64[f.state], t.c64[f.state+1]
	ok := true
	if len(t.plan.keys) == 0 {
		lower, upper := halvesOf(v)
		ok = f.addHalves(low, high, 1, lower, upper)
	} else {
		o.each(t.n, func(g uint32, rows []uint32) {
			lower, upper := halvesOfRows(v, rows)
			ok = f.addHalves(low, high, g, lower, upper) && ok
		})
	}
	if !ok {
		return errSum
	}
	return nil
}

// halvesOf sums up the halves of values. The sums of at most 2^31 values fit.
func halvesOf(v []uint64) (lower, upper int64) {
	if blocks := len(v) / sumBlock; blocks > 0 && canMask {
		lower, upper = sumHalves(&v[0], blocks)
		v = v[blocks*sumBlock:]
	}
	for _, x := range v {
		lower += int64(uint32(x))
		upper += int64(x) >> 32
	}
	return lower, upper
}

// halvesOfRows does so for the values of some rows.
func halvesOfRows(v []uint64, rows []uint32) (lower, upper int64) {
	for _, row := range rows {
		x := v[row]
		lower += int64(uint32(x))
		upper += int64(x) >> 32
	}
	return lower, upper
}

// addHalves adds upper*2^32 + lower to a sum, and says whether it fits.
func (f *function) addHalves(low, high []uint64, g uint32, lower, upper int64) (ok bool) {
	l := uint64(upper) << 32
	h := uint64(upper >> 32)
	sum := l + uint64(lower)
	if sum < l {
		h++
	}
	if f.wide {
		low[g], high[g], ok = add128(low[g], high[g], sum, h)
		return ok
	}
	mergeSum(low, high, g, sum, h-uint64(int64(sum)>>63)) // as addAll has it
	return true
}
