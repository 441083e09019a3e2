package live

import (
	"fmt"
	"sort"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// Fabric is the memory of the GPUs of a mesh and the copies between them. Its methods
// are safe for concurrent use.
type Fabric interface {
	// Mesh describes the GPUs and their links.
	Mesh() *mesh.Mesh
	// Alloc returns memory of a GPU for packets on their way, at least 1 byte.
	// Errors wrap joincore.ErrBudget.
	Alloc(gpu int, bytes int64) (Buffer, error)
	// Free takes back what Alloc returned. No copy uses it any more.
	Free(b Buffer)
	// Device returns the number of the device that a GPU of the mesh is on.
	Device(gpu int) int
	// Copy begins to copy pieces over a hop and returns. When all of them are
	// copied, or could not be, done is called once, by Poll or by any goroutine,
	// but not from within Copy. The fabric may read the pieces until then.
	Copy(hop *mesh.Hop, pieces []Piece, done func(error))
	// Poll calls done for the copies from a device's GPUs that have ended, and reports
	// whether others are under way that end in a later Poll, or another goroutine polls
	// this device. A fabric that needs no Poll returns false.
	Poll(device int) bool
}

// Buffer is memory of one GPU, of a type that its Fabric knows.
type Buffer any

// Place is a position in a buffer.
type Place struct {
	Buffer Buffer
	Offset int64 // bytes
}

// Piece is bytes to copy from a place to another one.
type Piece struct {
	From, To Place
	Bytes    int64
}

// from returns the places of the piece's bytes from an offset on.
func (p *Piece) from(offset int64) (from, to Place) {
	return Place{p.From.Buffer, p.From.Offset + offset}, Place{p.To.Buffer, p.To.Offset + offset}
}

// join appends a piece to others, as a part of the last one if it continues this one at
// both ends.
func join(pieces []Piece, p Piece) []Piece {
	if n := len(pieces); n > 0 {
		last := &pieces[n-1]
		if last.From.Buffer == p.From.Buffer && last.To.Buffer == p.To.Buffer &&
			last.From.Offset+last.Bytes == p.From.Offset && last.To.Offset+last.Bytes == p.To.Offset {
			last.Bytes += p.Bytes
			return pieces
		}
	}
	return append(pieces, p)
}

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
