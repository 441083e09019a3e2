package exchange

import "gpujoin/joincore/mesh"

// seed gives a view the delays to expect at first, from the histogram: every
// source begins with a window of batches that it divides among its
// destinations as its bytes are divided, and each takes the route that adaptive
// routing would take. All nodes compute the same.
func seed(v *View, c Config, traffic [][]int64) {
	batch := c.Packet * int64(c.Batch)
	usable := make([][][]mesh.Route, len(traffic))
	for from, row := range traffic {
		usable[from] = make([][]mesh.Route, len(row))
		for to, bytes := range row {
			if bytes > 0 {
				usable[from][to] = c.Policy.Usable(v.mesh.Routes(from, to, c.Mid))
			}
		}
	}
	for range c.Window {
		for from, row := range traffic {
			var total int64
			for _, bytes := range row {
				total += bytes
			}
			for to, bytes := range row {
				if bytes == 0 {
					continue
				}
				part := int64(float64(min(batch, total)) * float64(bytes) / float64(total))
				routes := usable[from][to]
				r := &routes[c.Policy.Choose(v, max(part, 1), routes)]
				for _, h := range r.Hops {
					v.add(h.ID, part)
				}
			}
		}
	}
}
