package live

import (
	"fmt"
	"sort"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// Run is consecutive bytes that one GPU sends to another.
type Run struct {
	From, To       int // GPUs, different ones
	Source, Target Place
	Bytes          int64
}

// flow is all runs between two GPUs, one after the other, as pieces. Its packets are
// numbered by the bytes before them.
type flow struct {
	pieces []Piece
	start  []int64 // of each piece
	bytes  int64
}

// flows sorts runs by their GPUs and joins those that continue each other.
func flows(m *mesh.Mesh, runs []Run) (map[exchange.Flow]*flow, error) {
	of := map[exchange.Flow]*flow{}
	for _, r := range runs {
		if r.From < 0 || r.From >= m.GPUs() || r.To < 0 || r.To >= m.GPUs() || r.From == r.To || r.Bytes < 0 {
			return nil, fmt.Errorf("%w: %d bytes from %d to %d", exchange.ErrTraffic, r.Bytes, r.From, r.To)
		}
		if r.Bytes == 0 {
			continue
		}
		key := exchange.Flow{From: r.From, To: r.To}
		if of[key] == nil {
			of[key] = &flow{}
		}
		of[key].add(r)
	}
	return of, nil
}

func (f *flow) add(r Run) {
	f.pieces = join(f.pieces, Piece{r.Source, r.Target, r.Bytes})
	if len(f.start) < len(f.pieces) {
		f.start = append(f.start, f.bytes)
	}
	f.bytes += r.Bytes
}

// packets cuts the flow into packets, each within one piece.
func (f *flow) packets(most int64) []exchange.Packet {
	var list []exchange.Packet
	for i, p := range f.pieces {
		cut := exchange.Cut(exchange.Range{Low: f.start[i], High: f.start[i] + p.Bytes}, 1, most)
		if len(f.pieces) == 1 {
			return cut
		}
		list = append(list, cut...)
	}
	return list
}

// at returns where a packet begins: in its source and in its target.
func (f *flow) at(p exchange.Packet) (source, target Place) {
	i := sort.Search(len(f.start), func(i int) bool { return f.start[i] > p.Rows.Low }) - 1
	return f.pieces[i].from(p.Rows.Low - f.start[i])
}
