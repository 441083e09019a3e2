//go:build cuda

package mgj

import (
	"context"

	"gpujoin/joincore/cuda/columnar/phj"
)

// mostCold is the most of a GPU's share of the probe rows that one key may have whose rows are
// sent: cold rows are assigned as if all keys were rare.
const mostCold = 0.7

// mayHaveHot reports whether the probe side is to be sampled for hot keys. A sample takes
// longer than the first ranges' counts, which show whether it is likely to find some.
func (j *join) mayHaveHot() bool {
	if j.options.Bypass == BypassNever || len(j.shares) == 1 || j.options.Strategy == Alone || !j.shares[0].Bypasses() {
		return false
	}
	large := j.cut.Rows[1] >= phj.SampleFrom && j.cut.Sample
	return j.options.Bypass == BypassAlways || large && skewed(j.first[1])
}

// sampleKeys begins to sample the probe side's keys, and reports whether it does.
func (j *join) sampleKeys() bool {
	var rows []int64
	for _, x := range j.shares {
		rows = append(rows, x.Rows(1))
	}
	parts := phj.SampleParts(rows)
	if parts == nil {
		return false
	}
	j.each(func(i int, x *phj.Share) { x.SampleKeys(parts[i]) })
	return true
}

// bypassHot looks for hot keys in the sample. If most probe rows have one, each GPU gets
// the build rows of all hot keys and joins its own probe rows with them.
func (j *join) bypassHot(ctx context.Context) error {
	counts := &j.group.keys
	counts.Reset()
	for _, x := range j.shares {
		if err := x.SampledKeys(ctx, counts); err != nil {
			return err
		}
	}
	if counts.Repeated() < leastRepeated {
		return nil
	}
	frequent := counts.Frequent()
	if frequent == nil {
		return nil
	}
	for _, x := range j.shares {
		if err := x.LookUp(frequent); err != nil {
			return err
		}
	}
	var looked [][]uint64
	for _, x := range j.shares {
		found, err := x.LookedUp(ctx)
		if err != nil {
			return err
		}
		looked = append(looked, found)
	}
	hot := j.shares[0].Merged(looked)
	if counts.Mark(hot) < leastHot || counts.MostCold() > mostCold/float64(len(j.shares)) {
		return nil
	}
	taken, err := j.takeBypass(counts)
	if err != nil || !taken {
		return err
	}
	j.ended("hot keys found")
	j.each(func(_ int, x *phj.Share) { x.StartBypass(hot) })
	j.report.HotKeys = len(hot.Keys)
	return nil
}

// takeBypass takes memory for the result on all GPUs, or on none, and notes how many probe
// rows are left on each.
func (j *join) takeBypass(counts *phj.KeyCounts) (taken bool, err error) {
	gpus := int64(len(j.shares))
	cold, hot := make([]int64, gpus), make([]int64, gpus)
	allHot, allCold := int64(0), int64(0)
	for i, x := range j.shares {
		hot[i], cold[i] = splitHot(x.Rows(1), counts.Hot(i), counts.Sampled(i))
		allHot, allCold = allHot+hot[i], allCold+cold[i]
	}
	receives := [2]int64{j.cut.Rows[0], allCold}
	if j.options.Strategy == Exchange {
		for side := range receives {
			receives[side] = spared(receives[side] / gpus)
		}
	}
	// Result rows of cold keys: one GPU joins all of the most frequent one.
	rest := max(0, j.cut.OutputRows-allHot)/gpus*5/4 + int64(counts.MostCold()*float64(j.cut.Rows[1]))*9/8 + 4096
	sending := 0
	if j.cut.Way != phj.Stage {
		sending = j.cut.Sending
	}
	for i, x := range j.shares {
		output := min(hot[i]+hot[i]/16+4096, x.Rows(1)) + rest
		ok, err := x.TakeBypass(output, receives, cold[i]+cold[i]/4, sending)
		if err != nil {
			return false, err
		}
		if !ok {
			for _, other := range j.shares[:i] {
				other.DropBypass()
			}
			return false, nil
		}
	}
	j.cold, j.cut.Rows[1], j.cut.OutputRows = cold, allCold, 0
	return true, nil
}

// countCold counts the probe rows that a bypass leaves, when it has ended.
func (j *join) countCold(ctx context.Context) error {
	if j.cold == nil {
		return nil
	}
	for _, x := range j.shares {
		if _, err := x.CountCold(ctx); err != nil {
			return err
		}
	}
	j.ended("hot keys joined")
	return nil
}
