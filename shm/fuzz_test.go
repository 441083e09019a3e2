package shm

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"
)

// clip limits the capacity of a target's input, so that a decoder that reads beyond the
// length panics.
func clip(b []byte) []byte { return b[:len(b):len(b)] }

func FuzzFrame(f *testing.F) {
	f.Add(AppendFrame(nil, MsgHello, 0, &Hello{ProtocolVersion: 1}))
	f.Add(AppendFrame(nil, MsgGrant, 16, &Grant{Count: 16}))
	f.Add(AppendFailed(nil, FailBusy, "", "later"))
	f.Add(AppendReport(nil, testReport()))
	f.Add(AppendEmpty(nil, MsgEnd))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		h, err := ParseFrame(b)
		if err == nil && (h.Length > FrameMax || h.NFDs > FrameMaxFDs || !h.Type.Known()) {
			t.Fatalf("%+v was accepted", h)
		}
		if text, err := DescribeFrame(b); err == nil && text == "" {
			t.Fatal("a frame without description")
		}
	})
}

func FuzzFailed(f *testing.F) {
	f.Add(AppendFailed(nil, FailBudget, "", "no")[FrameSize:])
	f.Fuzz(func(t *testing.T, b []byte) {
		code, text, err := DecodeFailed(clip(b))
		if err == nil && len(text) <= MaxText && len(AppendFailed(nil, code, "", text)) > FrameSize+len(b) {
			t.Fatal("a failure grew on the way")
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add(Append(nil, &Status{Magic: StatusMagic, Version: LayoutVersion}))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		if s, err := DecodeStatus(b); err == nil && !bytes.Equal(Append(nil, &s), b) {
			t.Fatal("a status changed on the way")
		}
	})
}

func FuzzChainExtent(f *testing.F) {
	f.Add(append(Append(nil, &ChainHeader{Magic: ChainMagic, Version: LayoutVersion, Bytes: 10}), make([]byte, 50)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, data, err := ReadChainExtent(clip(b))
		if err == nil && (len(data) != int(h.Bytes) || cap(data) != len(data)) {
			t.Fatal("wrong data of a chain")
		}
	})
}

// FuzzFilter tests keys at the edges of whatever filter the bytes claim to be.
func FuzzFilter(f *testing.F) {
	header := FilterHeader{Magic: FilterMagic, Version: LayoutVersion, Kind: uint16(FilterBitmap), Bytes: 8, Keys: 1, Min: -1, Max: 62}
	f.Add(append(Append(nil, &header), make([]byte, 24)...), int64(5))
	header.Kind, header.Seed = uint16(FilterBloom), 7
	f.Add(append(Append(nil, &header), make([]byte, 24)...), int64(5))
	f.Fuzz(func(t *testing.T, b []byte, key int64) {
		v, err := ReadFilter(clip(b))
		if err != nil {
			return
		}
		if len(v.Data) != int(v.Header.Bytes) || cap(v.Data) != len(v.Data) {
			t.Fatal("wrong data of a filter")
		}
		for _, k := range []int64{key, v.Header.Min, v.Header.Max, math.MinInt64, math.MaxInt64, 0, -1} {
			if v.Test(k) && (k < v.Header.Min || k > v.Header.Max) {
				t.Fatalf("%d passes %+v", k, v.Header)
			}
		}
	})
}

// FuzzBatch reads everything that a batch claims to contain, and prints it.
func FuzzBatch(f *testing.F) {
	extent := make([]byte, 8192)
	fill(f, extent, testShapes, 20, nil)
	f.Add(extent)
	f.Add(extent[:Sizeof[Batch]()])
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		v, err := ReadBatch(b, nil)
		if err != nil {
			return
		}
		for _, c := range v.Columns {
			if c.Shape.Check() != nil {
				t.Fatalf("shape %v was accepted", c.Shape)
			}
			switch c.Shape.Encoding {
			case EncFixed:
				if len(c.Values) != v.Rows*int(c.Shape.Width) {
					t.Fatal("wrong length of values")
				}
			case EncVarlena:
				for i := 0; i+8 <= len(c.Values); i += 4 {
					_ = c.Heap[binary.LittleEndian.Uint32(c.Values[i:]):binary.LittleEndian.Uint32(c.Values[i+4:])]
				}
			}
			if c.Validity != nil && len(c.Validity) < (v.Rows+7)/8 {
				t.Fatal("short bitmap")
			}
		}
		if err := Dump(io.Discard, b, 20); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPlanBatch plans with hostile estimates of a job and fills the batch completely.
func FuzzPlanBatch(f *testing.F) {
	f.Add(uint8(3), 10.0, 1e9, uint16(1000))
	f.Fuzz(func(t *testing.T, n uint8, mean1, mean2 float64, size uint16) {
		shapes := make([]ColumnShape, n)
		heap := make([]float64, n)
		for i := range shapes {
			shapes[i], heap[i] = testShapes[i%len(testShapes)], []float64{mean1, mean2}[i%2]
		}
		extent := make([]byte, 64+int(size))
		l, err := PlanBatch(len(extent), shapes, heap)
		if err != nil {
			return
		}
		used := make([]int, n)
		for i, c := range l.Columns(extent) {
			used[i] = len(c.Heap)
			if c.Shape.Encoding == EncVarlena {
				for r := range l.Rows {
					binary.LittleEndian.PutUint32(c.Values[4*(r+1):], uint32(len(c.Heap)))
				}
			}
		}
		if _, _, err := l.Seal(extent, l.Rows, used); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBatch(extent, shapes); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzKept decodes every list of the messages on kept columns, and encodes what was
// accepted.
func FuzzKept(f *testing.F) {
	f.Add(AppendPages(nil, &Pages{Flags: PagesMore, Blocks: 3}, &Leaf{Groups: []Group{{LSN: 8, Visible: Bitmap{5}}}, Attnums: []int16{2, 7}, Name: "public.t"}))
	f.Add(AppendKept(nil, &Kept{Mode: FeedKept}, []KeptLeaf{{Relation: 9, Blocks: 3}, {Relation: 4, Blocks: 1}}, []GroupState{GroupMixed, GroupFed}))
	f.Add(AppendBlocks(nil, &Blocks{Prove: Bitmap{1}}, []uint64{7}))
	f.Add(AppendCaptured(nil, &Captured{Rows: 10}, []CapturedBlock{{LSN: 6, Block: 1}, {Block: 2, FirstRow: 4}}))
	f.Add(AppendForget(nil, &Forget{File: 2}, "public.t"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		if len(b) < FrameSize {
			return
		}
		body := b[FrameSize:len(b):len(b)]
		same := func(again []byte, err error) {
			if err == nil && !bytes.Equal(again[FrameSize:], body) {
				t.Fatal("a message changed on the way")
			}
		}
		pages, leaf, err := DecodePages(body)
		if err == nil {
			same(AppendPages(nil, &pages, leaf), nil)
		}
		kept, leaves, states, err := DecodeKept(body)
		same(AppendKept(nil, &kept, leaves, states), err)
		blocks, lsns, err := DecodeBlocks(body)
		same(AppendBlocks(nil, &blocks, lsns), err)
		captured, list, err := DecodeCaptured(body)
		same(AppendCaptured(nil, &captured, list), err)
		forget, name, err := DecodeForget(body)
		same(AppendForget(nil, &forget, name), err)
	})
}
