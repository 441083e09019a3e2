package textcodes_test

import (
	"encoding/binary"
	"runtime"
	"sync"
	"testing"

	"gpujoin/joincore"
	"gpujoin/joincore/cpu"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/testsupport/bulk"
	"gpujoin/testsupport/suite"
)

// reserve is memory that was taken before.
type reserve struct {
	mu   sync.Mutex
	free []byte
}

func (r *reserve) Alloc(n int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := (n + 63) &^ 63
	if size > int64(len(r.free)) {
		return nil, joincore.ErrBudget
	}
	b := r.free[:n:n]
	r.free = r.free[size:]
	return b, nil
}

func (*reserve) Free([]byte) {}

// TestComputedTextsAreMemoryOfTheJob computes several times more bytes of texts than the
// process may take besides.
func TestComputedTextsAreMemoryOfTheJob(t *testing.T) {
	const rows, bytes, most = 1 << 16, 1 << 10, 16 << 20
	value := suite.FedText(make([]byte, bytes), 4)
	text := joincore.Vector{Heap: make([]byte, 0, rows*len(value)), Values: make([]byte, 4, 4*(rows+1))}
	for range rows {
		text.Heap = append(text.Heap, value...)
		text.Values = binary.LittleEndian.AppendUint32(text.Values, uint32(len(text.Heap)))
	}
	in := &joincore.Relation{
		Columns:  []joincore.Column{{Kind: joincore.Varlena, Align: 4}},
		Segments: []joincore.Segment{{Rows: rows, Columns: []joincore.Vector{text}}},
	}
	key := &joincore.Substring{Arg: joincore.ColumnRef{}, From: 1, For: bytes - 1, Characters: joincore.UTF8}
	plan := &joincore.Plan{
		Inputs: []joincore.Input{{Columns: in.Columns}},
		Root: &joincore.Aggregate{
			Child: &joincore.Scan{}, ID: 1, Keys: []joincore.Value{key}, Functions: []joincore.Function{{Kind: joincore.Count}},
		},
		Output: []joincore.ColumnRef{{Input: 1, Column: 0}, {Input: 1, Column: 1}},
	}
	arena := &reserve{free: make([]byte, 8*rows*bytes)}
	sink := suite.NewCollector(plan, 16)
	p := textcodes.New(words{&bulk.Provider{Inner: cpu.New()}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := suite.Run(t.Context(), p, plan, []*joincore.Relation{in}, arena, sink, exec.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes are no memory of the job", n)
	}
}
