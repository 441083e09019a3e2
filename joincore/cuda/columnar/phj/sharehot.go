//go:build cuda

package phj

import (
	"context"
	"errors"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// ErrBypass: a join of hot keys where their rows are returns more rows than there is memory
// for. The caller joins again without that.
var ErrBypass = errors.New("phj: hot keys have more partners than expected")

// hotRows is what a device needs to join probe rows of hot keys where they are.
type hotRows struct {
	samples  int         // sampled rows of this device
	at       uint64      // gj_sample and the build rows of hot keys
	keys     uint64      // of the sample
	counts   uint64      // a histogram that is not used
	join     uint64      // a descriptor, then fields
	bypassed uint64      // a bit for each probe row
	bottom   driver.Mark // before that and the result
}

// sampleKeyBytes is the memory for the keys of a sample.
const sampleKeyBytes = sampleSlots * hotKeyBytes

// Bypasses reports whether hot keys can be joined where their rows are: there are kernels
// for the columns, and enough shared memory.
func (x *Share) Bypasses() bool {
	r := x.run
	build, ok := bypassed(r.widths, r.shapes[1])
	return ok && !r.Join.RowIDs && r.shapes[0] == build && r.looksUp()
}

// Rows returns the rows that this device has of a side.
func (x *Share) Rows(side int) int64 { return x.run.Sides[side].Rows }

func (x *Share) hotKernels() *hotKernels { return &x.sender.hot[x.run.keyWords-1] }

// SampleKeys begins to take the keys of n probe rows, while all rows are counted.
func (x *Share) SampleKeys(n int) {
	r, h, k := x.run, &x.hot, x.hotKernels().sample
	h.samples = n
	h.at, h.keys, h.counts = r.Take(hotBytes), r.Take(sampleKeyBytes), r.Take(4<<r.bits)
	h.join = r.Take(joinBytes + maxFields*fieldBytes)
	r.Do(func() error { return x.sender.stream.Wait(x.sender.start) })
	r.PutOn(x.sender.stream, h.join, columnar.BytesOf([]joinDescriptor{r.d}))
	r.Report.Launches++
	r.Do(func() error { return k.Launch(x.sender.stream, k.Grid(int64(n/k.Rows+1)), h.join, uint64(n), h.keys) })
	host := x.sampleHost()[:n*4*r.keyWords]
	r.Do(func() error { return x.sender.stream.CopyOut(host, driver.Ptr(h.keys)) })
	r.Do(func() error { return x.sender.stream.Record(x.sender.looked) })
}

// sampleHost is host memory for the keys of a sample.
func (x *Share) sampleHost() []byte { return x.sender.hotHost.Bytes()[hotBytes:] }

// SampledKeys waits for SampleKeys and adds the keys to others.
func (x *Share) SampledKeys(ctx context.Context, c *KeyCounts) error {
	if err := x.counted(ctx, x.sender.looked); err != nil {
		return err
	}
	words := x.sender.hotHost.Words()[hotBytes/8:]
	c.Add(x.hot.samples, func(i int) uint64 {
		if x.run.keyWords == 2 {
			return words[i]
		}
		return uint64(word(words, i))
	})
	return nil
}

// LookUp begins to look up the build rows of the keys of a sample, which are those of all
// devices.
func (x *Share) LookUp(keys []uint64) error {
	r, h, k := x.run, &x.hot, x.hotKernels()
	sum, err := r.state.steps.Kernel("gj_sample_sum")
	if err != nil {
		return err
	}
	words := x.sender.hotHost.Words()[hotBytes/8:]
	for i, key := range keys {
		if r.keyWords == 2 {
			words[i] = key
		} else {
			setWord(words, i, uint32(key))
		}
	}
	host := x.sampleHost()[:len(keys)*4*r.keyWords]
	r.Do(func() error { return x.stream.CopyIn(driver.Ptr(h.keys), host) })
	d, fields := r.d, x.hotFields()
	d.Sample, d.Side[0].Count = h.at, h.counts
	d.Side[0].Fields, d.Side[0].FieldCount = h.join+joinBytes, uint64(len(fields))
	d.Side[1].Rows, d.Side[1].Key = uint64(len(keys)), h.keys // of which the histogram takes a sample: all
	r.PutAt(h.join, columnar.BytesOf([]joinDescriptor{d}), columnar.BytesOf(fields))
	r.Set(h.at, 0, sampleBytes)
	histogram := r.kernels.histogram
	r.LaunchShared(histogram, max(2, histogram.Grid(r.Join.Build.Rows/8192)), r.counterBytes()+histogram.Shared, h.join, countBuild)
	r.Launch(sum, 1, h.join, hotFrom)
	r.Launch(k.rows, k.rows.Grid(int64(maxHotKeys/k.rows.Rows)), h.join, x.hotColumn(0))
	found := x.sender.hotHost.Bytes()[:hotBytes]
	r.Do(func() error { return x.stream.CopyOut(found, driver.Ptr(h.at)) })
	r.Do(func() error { return x.stream.Record(x.sender.looked) })
	r.phase(columnar.PhaseSummary)
	return r.Err()
}

// hotColumn is the address of a column of the hot keys' build rows. The key is number 0.
func (x *Share) hotColumn(i int) uint64 {
	at := x.hot.at + sampleBytes
	if i > 0 {
		at += uint64(maxHotKeys * 4 * x.run.keyWords)
	}
	for _, width := range x.run.widths[0][:max(i-1, 0)] {
		at += uint64(maxHotKeys * width)
	}
	return at
}

// hotFields describes where the payload of the hot keys' build rows is copied.
func (x *Share) hotFields() (list []field) {
	for c, column := range x.run.Join.Build.Payload {
		width := uint64(column.Bytes)
		list = append(list, field{From: uint64(column.Addr), FromStride: width, To: x.hotColumn(1 + c), ToStride: width, Bytes: width})
	}
	return list
}

// LookedUp waits for LookUp and returns what MergeHot needs.
func (x *Share) LookedUp(ctx context.Context) ([]uint64, error) {
	if err := x.counted(ctx, x.sender.looked); err != nil {
		return nil, err
	}
	return x.sender.hotHost.Words()[:hotBytes/8], nil
}

// Merged returns the hot keys of several shares, of which looked has what each has found.
func (x *Share) Merged(looked [][]uint64) *Hot {
	return MergeHot(looked, x.run.keyWords, x.run.widths[0])
}

// TakeBypass takes memory for a result of the given rows, and chooses the blocks of the
// bypass, which leave multiprocessors to the given number of blocks that send the build side.
// false: there is too little memory for that, and for the given numbers of rows to receive
// and of own probe rows without a hot key.
func (x *Share) TakeBypass(outputRows int64, receives [2]int64, cold int64, sending int) (ok bool, err error) {
	r, h := x.run, &x.hot
	h.bottom = r.Mark()
	mask := (r.Join.Probe.Rows + 31) / 32 * 4
	if !x.fits(receives, outputRows, mask+cold*int64(r.Join.Probe.RowBytes())) {
		return false, nil
	}
	if r.bypass, err = r.state.bypass(r.keyWords, r.widths, r.shapes[1]); err != nil || r.bypass == nil {
		return false, err
	}
	if sending < r.SMs {
		r.bypass.grid = max(1, r.bypass.grid*(r.SMs-sending)/r.SMs)
	}
	err = r.Attempt(func() error {
		h.bypassed = r.Take(mask)
		r.Join.OutputRows, r.tables.outputFrom = outputRows, r.Mark()
		return r.takeOutput(outputRows)
	})
	if errors.Is(err, joincore.ErrBudget) {
		x.DropBypass()
		return false, nil
	}
	return err == nil, err
}

// DropBypass gives back what TakeBypass has taken.
func (x *Share) DropBypass() {
	x.run.bypass = nil
	x.run.Rewind(x.hot.bottom)
}

// StartBypass begins to join the probe rows of hot keys.
func (x *Share) StartBypass(hot *Hot) {
	r, h := x.run, &x.hot
	copy(x.sender.hotHost.Words(), hot.words)
	host := x.sender.hotHost.Bytes()[:hotBytes]
	r.Do(func() error { return x.stream.CopyIn(driver.Ptr(h.at), host) })
	d := r.d
	d.Sample, d.Bypassed = h.at, h.bypassed
	d.Side[1].Count = h.counts
	d.Side[0].Rows, d.Side[0].Key = uint64(len(hot.Keys)), x.hotColumn(0)
	for c := range r.widths[0] {
		d.Side[0].Column[c] = x.hotColumn(1 + c)
	}
	r.PutAt(h.join, columnar.BytesOf([]joinDescriptor{d}))
	r.Launch(r.bypass.join, r.bypass.grid, h.join)
	r.Peek(r.d.Counters, counters)
	r.phase(columnar.PhaseBypass)
}

// CountCold waits for StartBypass, makes the rows that are left the probe side, and begins
// to count them. It returns their number.
func (x *Share) CountCold(ctx context.Context) (rows int64, err error) {
	r, k := x.run, x.hotKernels().cold
	counted, err := r.Peeked(ctx)
	if err != nil {
		return 0, err
	}
	all := r.Join.Probe.Rows
	if rows = all - int64(counted[counterBypassed]); rows < 0 || rows > all {
		return 0, fmt.Errorf("phj: %d rows of %d have hot keys", counted[counterBypassed], all)
	}
	left, err := r.takeReduced(rows)
	if err != nil {
		return 0, err
	}
	r.d.Bypassed = x.hot.bypassed
	r.copyIn()
	r.launch(k, k.Grid(all/int64(k.Rows)+1), uint64(left.Key.Addr), uint64(rows))
	r.phase(columnar.PhaseReduction)
	r.replaceProbe(left, rows)
	if err := r.describePayload(); err != nil {
		return 0, err
	}
	x.cutSide(1)
	build := x.source[:x.builds]
	x.source = nil
	x.describeSources() // of columns: they have no fields
	copy(x.source, build)
	r.PutAt(x.sourceAt(x.builds), columnar.BytesOf(x.source[x.builds:]))
	r.Set(x.local[1], 0, 4<<r.bits)
	x.countProbe(0)
	return rows, nil
}
