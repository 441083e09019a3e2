//go:build cuda

package phj

import (
	"errors"
	"fmt"
	"math/bits"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
)

// plan chooses the kernels for the modes and, the first time, the number of bits.
func (r *run) plan() (err error) {
	if r.Join.RowIDs {
		r.shapes, r.modes = [2]shape{idShape, idShape}, [2]mode{rowID, rowID}
	} else {
		r.shapes, r.modes = r.volume().fit(r.modes)
	}
	first, second, err := r.find()
	if err != nil {
		return err
	}
	if s, ok := besidePair(r.keyWords, r.volume().rows, r.bits, r.shapes, r.modes, r.widths, r.aligned()); ok && !r.bloom && !r.shared {
		r.shapes = s
		if first, second, err = r.find(); err != nil {
			return err
		}
	}
	if r.bits <= first && (r.modes[0] == place || r.modes[1] == place) { // packed rows have a place after one pass, too
		// With a single pass there is nothing clustered to gather from.
		for i := range r.modes {
			if r.modes[i] == place {
				r.modes[i] = carry
			}
		}
		return r.plan()
	}
	if r.bits > first+second {
		return errTooManyBits
	}
	return nil
}

// find finds the kernels for the shapes, chooses the number of bits if there is none yet, and
// returns the most bits of both passes.
func (r *run) find() (first, second int, err error) {
	if r.kernels, err = r.state.joinKernels(r.keyWords, r.shapes, r.modes, r.aligned(), r.Join.RowIDs, r.few()); err != nil {
		return 0, 0, err
	}
	first, second = r.fans()
	if r.bits < 0 {
		r.bits = min(partitionBits(r.Join.Build.Rows, r.kernels.match.Rows), r.mostBits(), first+second)
	}
	return first, second, nil
}

// aligned reports whether the columns of each side begin at multiples of 16 bytes.
func (r *run) aligned() (sides [2]bool) {
	for i, in := range r.Sides {
		at := in.Key.Addr
		for _, c := range in.Payload {
			at |= c.Addr
		}
		sides[i] = at%16 == 0
	}
	return sides
}

func (r *run) volume() volume {
	return volume{4 * r.keyWords, [2]int64{r.Join.Build.Rows, r.Join.Probe.Rows}, r.widths, r.Join.OutputRows}
}

var errTooManyBits = errors.New("phj: more hash bits than two passes can partition")

// fans returns the maximum bits of the first and of the second pass.
func (r *run) fans() (first, second int) {
	k := &r.kernels
	return log2(min(k.first[0].Fan, k.first[1].Fan)), log2(min(k.second[0].Fan, k.second[1].Fan))
}

// Sides that countKeys counts.
const (
	countBuild = 1
	countProbe = 2
)

// countKeys counts the sides' keys by partition.
func (r *run) countKeys(sides uint64) {
	k := r.kernels.histogram
	shared := r.counterBytes()
	rows := int64(0)
	for i, side := range r.Sides {
		if sides>>i&1 != 0 {
			rows += side.Rows
		}
	}
	if r.sampling() && sides == countBuild {
		shared += k.Shared
	}
	grid := max(2, k.Grid(rows/8192))
	r.LaunchShared(k, grid, shared, r.tables.join, sides)
	r.phase(columnar.PhaseHistogram)
	r.counted |= sides
}

// countRest counts the keys of the sides not counted yet.
func (r *run) countRest() {
	if r.counted == 0 {
		r.clear()
	}
	if rest := (countBuild | countProbe) &^ r.counted; rest != 0 {
		r.countKeys(rest)
	}
}

// mostBits returns the most hash bits whose partitions the device's histogram counts.
func (r *run) mostBits() int {
	return mostBits(r.state.device.Info().SharedOptin-kernels.HistogramStatic, max(r.kernels.histogram.Blocks, 1))
}

// counterBytes returns the bytes of the histogram's counters in shared memory.
func (r *run) counterBytes() int { return max(16, counterBytes(r.bits)<<r.bits) }

// clear zeroes counters and histograms.
func (r *run) clear() {
	r.Set(r.tables.zero, 0, r.tables.zeroBytes)
}

// partition moves both sides into their partitions.
func (r *run) partition() error {
	r.splitPasses()
	if err := r.takeBuffers(); err != nil {
		return err
	}
	if err := r.takeOutput(r.Join.OutputRows); err != nil {
		return err
	}
	r.copyIn()
	r.countRest()
	r.launch(r.kernels.offsets, r.kernels.offsets.Rows, 0)
	r.phase(columnar.PhaseOffsets)
	for i := range r.Sides { // the build side first: the probe side may still be uploaded
		r.firstPass(i, r.kernels.first[i])
		r.secondPass(i)
	}
	return nil
}

// log2 returns the bits of a fan-out, which is a power of two.
func log2(fan int) int { return bits.Len(uint(fan)) - 1 }

func (r *run) firstPass(i int, k *driver.Kernel) {
	r.Await(i)
	r.launch(k, k.Grid(r.Sides[i].Rows/int64(k.Rows)+1), uint64(i))
	r.phase(columnar.PhaseFirstPass[i])
}

func (r *run) secondPass(i int) {
	if r.d.BitsSecond == 0 {
		return
	}
	k := r.kernels.second[i]
	r.launch(k, k.Grid(r.Sides[i].Rows/int64(k.Rows)+1<<r.d.BitsFirst), uint64(i))
	r.phase(columnar.PhaseSecondPass[i])
}

// closeBlocks is the number of blocks that make the result dense: few rows move.
const closeBlocks = 64

// matchAndClose joins the partitions, makes the result dense and gathers packed payload.
func (r *run) matchAndClose() {
	r.launch(r.kernels.match, int(r.d.BypassTail))
	r.phase(columnar.PhaseMatch)
	var count, width [2]uint64
	for i, s := range matched(r.shapes, r.modes, r.Join.RowIDs) {
		if s.form == columns {
			count[i], width[i] = uint64(len(r.output.sides[i])), uint64(4*s.unit)
		}
		if r.modes[i] == pack {
			count[i] = 1
		}
	}
	r.launch(r.kernels.close, closeBlocks, uint64(4*r.keyWords), count[0], count[1], width[0], width[1])
	r.phase(columnar.PhaseClose)
	for i := range r.Sides {
		r.gather(i)
	}
}

// gather fetches side i's payload if it is packed. If the result is too small, positions
// stay where they are, because the match runs again.
func (r *run) gather(i int) {
	if r.modes[i] != pack || r.Join.RowIDs {
		return
	}
	k, most := &r.kernels, uint64(r.output.rows)
	if r.d.Side[i].Positions != r.positions[i] {
		r.launch(k.positions, k.positions.Grid(r.output.rows/gatherRows+1), uint64(i), most, r.positions[i])
	}
	r.launch(k.gather, k.gather.Grid(r.output.rows/gatherRows+1), uint64(i), most)
	r.phase(columnar.PhaseGather)
}

// gatherRows is the least number of rows for which a block is worth its start.
const gatherRows = 1024

// name is the join's algorithm, with the materialisation of the build and the probe
// side's payload if they differ.
func (r *run) name() string {
	of := func(i int) string {
		switch r.modes[i] {
		case place:
			return "place"
		case pack:
			return "pack"
		case rowID:
			return "um"
		}
		return "om"
	}
	name := "phj-" + of(0)
	if of(1) != of(0) {
		name += fmt.Sprintf("/%s", of(1))
	}
	if r.bypass != nil {
		name += "+bypass"
	}
	if r.bloom {
		name += "+bloom"
	}
	return name
}

// traffic models the bytes that each phase reads and writes.
func (r *run) traffic() map[string]int64 {
	t := map[string]int64{}
	out := int64(0)
	if r.bypass != nil {
		t[columnar.PhaseBypass] = r.Join.Probe.Bytes() + r.Join.Probe.Rows/8
	}
	if r.bloom {
		t[columnar.PhaseFilter], t[columnar.PhaseReduction] = r.reductionTraffic()
	}
	for i, in := range r.Sides {
		key := int64(4 * r.keyWords)
		carried := key + 4*int64(r.shapes[i].words)
		final := 4 * int64(r.finalWords(i))
		read := in.Bytes()
		if r.shapes[i].form == byID {
			read = in.Rows * key
		}
		t[columnar.PhaseHistogram] += in.Rows * key
		if r.d.BitsSecond == 0 {
			carried = final
			if r.modes[i] == pack {
				carried += 4 * int64(r.shapes[i].words)
			}
		}
		t[columnar.PhaseFirstPass[i]] = read + in.Rows*carried
		if r.d.BitsSecond != 0 {
			from := carried
			if r.modes[i].positioned() {
				from = key
			}
			t[columnar.PhaseSecondPass[i]] = in.Rows * (from + final)
		}
		t[columnar.PhaseMatch] += in.Rows * final
		if r.modes[i] == pack {
			out += positionBytes
			gathered := positionBytes + 4*int64(r.shapes[i].words)
			for _, c := range r.output.sides[i] {
				gathered += int64(c.Bytes)
			}
			if positionsOf(r.widths[i]) == positionsMove {
				gathered += 2 * positionBytes
			}
			t[columnar.PhaseGather] += gathered * r.output.rows
			continue
		}
		for _, c := range r.output.sides[i] {
			out += int64(c.Bytes)
			if (r.modes[i] == place || r.modes[i] == rowID) && !r.Join.RowIDs {
				out += sectorBytes
			}
		}
	}
	out += int64(r.output.key.Bytes)
	t[columnar.PhaseMatch] += out * r.output.rows
	return t
}

// sectorBytes is the number of bytes that a random read fetches.
const sectorBytes = 64
