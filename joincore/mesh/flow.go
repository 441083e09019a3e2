package mesh

const endless = 1e12

// flow is a network for maximum flows between few nodes: a matrix of what each
// edge can still take.
type flow struct {
	nodes int
	left  []float64
}

func newFlow(nodes int) *flow { return &flow{nodes, make([]float64, nodes*nodes)} }

func (f *flow) add(from, to int, gbps float64) { f.left[from*f.nodes+to] += gbps }

// maximum returns the maximum flow by shortest augmenting paths. It uses the
// network up.
func (f *flow) maximum(source, sink int) float64 {
	var total float64
	before := make([]int, f.nodes)
	queue := make([]int, 0, f.nodes)
	for {
		for i := range before {
			before[i] = -1
		}
		before[source] = source
		queue = append(queue[:0], source)
		for i := 0; i < len(queue) && before[sink] < 0; i++ {
			at := queue[i]
			for next, left := range f.left[at*f.nodes : (at+1)*f.nodes] {
				// Rounding leaves tiny remainders, which would be followed for ever.
				if left > 1e-9 && before[next] < 0 {
					before[next] = at
					queue = append(queue, next)
				}
			}
		}
		if before[sink] < 0 {
			return total
		}
		more := endless
		for at := sink; at != source; at = before[at] {
			more = min(more, f.left[before[at]*f.nodes+at])
		}
		for at := sink; at != source; at = before[at] {
			f.left[before[at]*f.nodes+at] -= more
			f.left[at*f.nodes+before[at]] += more
		}
		total += more
	}
}
