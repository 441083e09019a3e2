//go:build cuda

package multi

import (
	"fmt"
	"strconv"
	"strings"

	"gpujoin/joincore/cuda/columnar/phj"
	"gpujoin/joincore/cuda/mgj"
)

// waysOf reads ways to join, with spaces between them.
func waysOf(texts string) (list []mgj.Options, err error) {
	for _, text := range strings.Fields(texts) {
		o, err := wayOf(text)
		if err != nil {
			return nil, fmt.Errorf("-tune: %q: %w", text, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// wayOf reads a way to join: the ranges of both sides, "2+5" or their sizes, "1:2+2:3:1"; then
// "c" if rows are copied, or "x80" if 80 blocks store them.
func wayOf(text string) (o mgj.Options, err error) {
	o.Way = mgj.WayStore
	text, copied := strings.CutSuffix(text, "c")
	if copied {
		o.Way = mgj.WayCopy
	}
	text, blocks, found := strings.Cut(text, "x")
	if found {
		if o.Blocks, err = strconv.Atoi(blocks); err != nil {
			return o, fmt.Errorf("the number of blocks: %w", err)
		}
		if o.Blocks < 1 {
			return o, fmt.Errorf("%d blocks; at least one has to send", o.Blocks)
		}
	}
	build, probe, found := strings.Cut(text, "+")
	if !found {
		return o, fmt.Errorf("there is no + between the ranges of the build and of the probe side")
	}
	for side, sizes := range []string{build, probe} {
		if o.Ranges[side], err = rangesOf(sizes); err != nil {
			return o, err
		}
	}
	if n := o.Ranges[0].Count() + o.Ranges[1].Count(); n > phj.MaxFlows {
		return o, tooMany(n)
	}
	return o, nil
}

// rangesOf reads how many ranges a side has, or their sizes.
func rangesOf(text string) (r phj.Ranges, err error) {
	sizes := strings.Split(text, ":")
	if len(sizes) > phj.MaxFlows {
		return r, tooMany(len(sizes))
	}
	for i, size := range sizes {
		n, err := strconv.ParseUint(size, 10, 8)
		if err != nil || n == 0 {
			return r, fmt.Errorf("%q is not a number of 1 to 255", size)
		}
		r[i] = uint8(n)
	}
	if len(sizes) > 1 {
		return r, nil
	}
	if r[0] > phj.MaxFlows {
		return r, tooMany(int(r[0]))
	}
	return phj.Even(int(r[0])), nil
}

func tooMany(ranges int) error {
	return fmt.Errorf("%d ranges; both sides of a join have at most %d together", ranges, phj.MaxFlows)
}
