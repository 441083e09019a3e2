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

// flow is all runs between two GPUs, one after the other. Its packets are numbered by
// the bytes before them.
type flow struct {
	runs  []Run
	start []int64 // of each run
	bytes int64
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
	if n := len(f.runs); n > 0 {
		last := &f.runs[n-1]
		if last.Source.Buffer == r.Source.Buffer && last.Target.Buffer == r.Target.Buffer &&
			last.Source.Offset+last.Bytes == r.Source.Offset && last.Target.Offset+last.Bytes == r.Target.Offset {
			last.Bytes += r.Bytes
			f.bytes += r.Bytes
			return
		}
	}
	f.runs = append(f.runs, r)
	f.start = append(f.start, f.bytes)
	f.bytes += r.Bytes
}

// packets cuts the flow into packets, each within one run.
func (f *flow) packets(most int64) []exchange.Packet {
	var list []exchange.Packet
	for i, r := range f.runs {
		cut := exchange.Cut(exchange.Range{Low: f.start[i], High: f.start[i] + r.Bytes}, 1, most)
		if len(f.runs) == 1 {
			return cut
		}
		list = append(list, cut...)
	}
	return list
}

// at returns where a packet begins: in its source and in its target.
func (f *flow) at(p exchange.Packet) (source, target Place) {
	i := sort.Search(len(f.start), func(i int) bool { return f.start[i] > p.Rows.Low }) - 1
	r, skip := f.runs[i], p.Rows.Low-f.start[i]
	return Place{r.Source.Buffer, r.Source.Offset + skip}, Place{r.Target.Buffer, r.Target.Offset + skip}
}
