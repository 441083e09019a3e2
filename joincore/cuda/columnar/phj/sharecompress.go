//go:build cuda

package phj

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
)

// compressedFlow is what compression of a flow needs.
type compressedFlow struct {
	// What this device sends: its descriptor, and a parcel for each device.
	sends      uint64
	sendChunks uint64
	used       uint64 // uint32 by device: units of data
	out        []parcel
	// What it receives: a descriptor and a parcel for each device.
	receives []uint64
	in       []parcel
}

// Compresses reports whether kernels compress the rows of both sides.
func (x *Share) Compresses() bool {
	return x.RowBytes(0) <= 4*mostChunkWords && x.RowBytes(1) <= 4*mostChunkWords
}

// compressedRoom is the memory that some rows of a side take in compressed form, at most.
func (x *Share) compressedRoom(side int, rows int64) int64 {
	if rows == 0 {
		return 0
	}
	chunks := rows/chunkRows + 2*int64(x.cut.Devices*x.flowsOf(side)*x.Partitions()) // a partition has one that is not full
	return rows*x.RowBytes(side) + chunks*(2*chunkUnit+rowPartBytes) + int64(2*x.cut.Devices*x.flowsOf(side))*2*placesAlign
}

// rowWords describes the words of a side's rows between the passes.
func (x *Share) rowWords(side int) []rowWord {
	r := x.run
	s := &r.d.Side[side]
	words := rowWords(s.First, s.FirstCapacity, stripeSizes(int(x.bufferBytes(side)/4)))
	if r.modes[side] == pack {
		words = append(words, rowWords(r.stripes[side], r.stripeRows[side], packedStripeSizes(4*r.shapes[side].words))...)
	}
	return words
}

// TakeCompressed takes the memory for compressed rows of a side, after TakeBuild or TakeProbe, and
// describes them. This device has the given number. ErrBudget where there is too little.
func (x *Share) TakeCompressed(side, self int, a Assigned) error {
	r := x.run
	words := x.rowWords(side)
	if x.compressed == nil {
		x.compressed = make([]compressedFlow, len(x.flows))
	}
	if n := int64(x.behindBuffers - r.Mark()); side == 1 && n > 0 {
		r.Take(n) // rows are received there, behind a result that is smaller
	}
	size := x.compressedBytes(self, len(words), a)
	t := &descriptors{at: r.Take(size)}
	wordsAt := put(t, words)
	for i := range a.Sendings {
		f := &x.compressed[side*x.builds+i]
		if err := x.takeParcels(f, self, len(words), a.Sendings[i], a.Arrivals[i]); err != nil {
			return err
		}
		d := compressionDescriptor{Words: wordsAt, WordCount: uint64(len(words)), SharedBits: r.d.BitsFirst}
		f.used = put(t, make([]uint64, (len(f.out)+1)/2)) // two counts in each
		f.sends = x.describeParcels(t, d, f.out, f.used, func(g int) ([]uint32, []uint32) { return sentTo(a.Sendings[i], g, self) })
		for _, p := range f.out {
			f.sendChunks += p.chunks
		}
		for g := range f.in {
			own := func(int) ([]uint32, []uint32) { return receivedFrom(a.Arrivals[i], g, self) }
			f.receives = append(f.receives, x.describeParcels(t, d, f.in[g:g+1], 0, own))
		}
	}
	if int64(len(t.content)) > size {
		return fmt.Errorf("phj: %d bytes of descriptors in room for %d", len(t.content), size)
	}
	r.PutOn(x.sender.stream, t.at, t.content)
	return r.Err()
}

// takeParcels takes memory for all parcels of a flow.
func (x *Share) takeParcels(f *compressedFlow, self, words int, s Sending, arrivals []Arrival) error {
	for g := range arrivals {
		starts, rows := sentTo(s, g, self)
		out, _ := planParcel(starts, rows, words, 0, 0)
		starts, rows = receivedFrom(arrivals, g, self)
		in, _ := planParcel(starts, rows, words, 0, 0)
		for _, p := range []*parcel{&out, &in} {
			if p.rows > 0 {
				p.at = x.run.Take(p.bytes())
			}
		}
		f.out, f.in = append(f.out, out), append(f.in, in)
	}
	return x.run.Err()
}

// describeParcels puts a descriptor of parcels into a table and returns its address. used are the
// counts of units in use; 0: there are none. of returns where a parcel's rows begin, and their numbers.
func (x *Share) describeParcels(t *descriptors, d compressionDescriptor, parcels []parcel, used uint64, of func(i int) (starts, rows []uint32)) uint64 {
	var parts []rowPart
	var list []parcelDescriptor
	for i := range parcels {
		starts, rows := of(i)
		_, own := planParcel(starts, rows, int(d.WordCount), uint64(i), d.Chunks)
		at := used
		if used != 0 {
			at += uint64(4 * i)
		}
		list = append(list, parcels[i].describe(d.Chunks, at))
		parts, d.Chunks = append(parts, own...), d.Chunks+parcels[i].chunks
	}
	d.Parts, d.PartCount = put(t, parts), uint64(len(parts))
	d.Parcels = put(t, list)
	return put(t, []compressionDescriptor{d})
}

// compressedBytes is the size of the tables of a side.
func (x *Share) compressedBytes(self, words int, a Assigned) int64 {
	bytes := int64(words * rowWordBytes)
	for i, s := range a.Sendings {
		n := len(a.Arrivals[i])
		bytes += int64((1+n)*compressionBytes + 2*n*parcelBytes + 8*n)
		for g := range n {
			_, sent := sentTo(s, g, self)
			_, got := receivedFrom(a.Arrivals[i], g, self)
			for _, rows := range [][]uint32{sent, got} {
				for _, r := range rows {
					if r > 0 {
						bytes += rowPartBytes
					}
				}
			}
		}
	}
	return bytes
}

// descriptors are descriptors that are copied to an address together.
type descriptors struct {
	at      uint64
	content []byte
}

// put appends to a list and returns their address.
func put[D any](t *descriptors, list []D) uint64 {
	at := t.at + uint64(len(t.content))
	t.content = append(t.content, columnar.BytesOf(list)...)
	return at
}

// Compress begins to compress what a flow has for other devices, when its first pass has
// ended.
func (x *Share) Compress(flow int) {
	r, s, f := x.run, x.sender, &x.compressed[flow]
	passed := s.sent[flow]
	if x.cut.Way == Copy {
		passed = s.passed[flow]
	}
	r.Do(func() error { return s.packer.Wait(passed) })
	if f.sendChunks > 0 {
		k := s.compress[r.keyWords-1]
		r.Report.Launches++
		r.Do(func() error { return k.Launch(s.packer, k.Grid(int64(f.sendChunks)), f.sends) })
		r.Do(func() error { return s.packer.CopyOut(s.sizesOf(flow, len(f.out)), driver.Ptr(f.used)) })
	}
	r.Do(func() error { return s.packer.Record(s.packed[flow]) })
}

// sizesOf is where the host finds the units that the parcels of a flow have in use.
func (s *Sender) sizesOf(flow, devices int) []byte {
	return s.sizes.Bytes()[4*flow*MaxDevices:][:4*devices]
}

// Compressed waits until Compress has ended, and returns the bytes of the flow's rows and of their
// parcels, by device. An error is the one that Finish returns.
func (x *Share) Compressed(ctx context.Context, flow int) (raw, wire []int64) {
	f := &x.compressed[flow]
	raw, wire = make([]int64, len(f.out)), make([]int64, len(f.out))
	x.run.Do(func() error { return x.counted(ctx, x.sender.packed[flow]) })
	if x.run.Err() != nil {
		return raw, wire
	}
	row := x.RowBytes(x.flows[flow].side)
	for g := range f.out {
		p := &f.out[g]
		if p.rows == 0 {
			continue
		}
		units := int64(binary.LittleEndian.Uint32(x.sender.sizesOf(flow, len(f.out))[4*g:]))
		raw[g], wire[g] = p.rows*row, p.places+units*chunkUnit
		if wire[g] > p.bytes() {
			x.run.Do(func() error { return fmt.Errorf("phj: %d bytes of compressed rows in room for %d", wire[g], p.bytes()) })
		}
	}
	return raw, wire
}

// Parcel returns the copy that brings a flow's compressed rows, of the given bytes, to the device
// whose share is other. Their numbers are self and to.
func (x *Share) Parcel(flow, self, to int, other *Share, bytes int64) []Piece {
	from, at := &x.compressed[flow].out[to], &other.compressed[flow].in[self]
	return []Piece{{From: driver.Ptr(from.at), To: driver.Ptr(at.at), Bytes: bytes}}
}

// Expand expands the compressed rows that a device has sent of a flow, behind Await and before Second.
func (x *Share) Expand(flow, from int) {
	f, k := &x.compressed[flow], x.sender.expand[x.run.keyWords-1]
	x.run.Launch(k, k.Grid(int64(f.in[from].chunks)), f.receives[from])
}

// loadCompression loads the kernels that compress.
func (s *Sender) loadCompression() (err error) {
	layout, err := s.module.Constants("gj_compress_layout")
	if err != nil {
		return err
	}
	if want := []uint64{compressionBytes, rowWordBytes, rowPartBytes, parcelBytes, chunkRows, chunkUnit, mostChunkWords}; !slices.Equal(layout, want) {
		return fmt.Errorf("the kernels' compression has the layout %v in place of %v", layout, want)
	}
	for i := range s.compress {
		if s.compress[i], err = s.module.Kernel(fmt.Sprintf("gj_compress_k%d", i+1)); err != nil {
			return err
		}
		if s.expand[i], err = s.module.Kernel(fmt.Sprintf("gj_expand_k%d", i+1)); err != nil {
			return err
		}
	}
	return nil
}
