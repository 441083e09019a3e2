package sim

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gpujoin/joincore/mesh"
	"gpujoin/testsupport/machines"
)

const allGPUs = "01234567"

// all computes the rows of all figures, or of a quick selection.
func all(l *lab, quick bool) []row {
	figures := []func(*lab, bool) []row{topology, figure5, figure6, figure7, figure8, figure9, figure10, figure12, rings, anyMesh}
	if quick {
		figures = []func(*lab, bool) []row{topology, figure6, figure8, figure9, rings, anyMesh}
	}
	results := make([][]row, len(figures))
	var wait sync.WaitGroup
	for i, f := range figures {
		wait.Go(func() { results[i] = f(l, quick) })
	}
	wait.Wait()
	return slices.Concat(results...)
}

// topology checks that the preset is the paper's machine.
func topology(*lab, bool) []row {
	m, err := machines.Mesh("dgx1")
	if err != nil {
		return []row{failed("topology", "dgx1", err)}
	}
	sublinks := 0
	for _, l := range m.Links {
		if l.Kind == mesh.NVLink && l.From < l.To {
			sublinks += l.Width
		}
	}
	slow, direct := 0, 0
	counts := map[int]bool{}
	for from := range m.GPUs() {
		for to := range from {
			for _, h := range m.Direct(from, to) {
				if direct++; h.Kind == mesh.PCIe {
					slow++
				}
			}
			fabric := 0
			for _, r := range m.Routes(from, to, 3) {
				if r.Fabric {
					fabric++
				}
			}
			counts[fabric] = true
		}
	}
	other := 0
	for n := range counts {
		if n != 12 && n != 16 && n != 20 {
			other++
		}
	}
	return []row{
		at("2.2", "direct routes over PCIe, of 44", float64(slow), "routes", "63 %", 28, 28),
		at("2.2", "direct routes", float64(direct), "routes", "", 44, 44),
		at("2.2", "NVLink sub-links", float64(sublinks), "links", "", 24, 24),
		at("2.2", "numbers of NVLink routes a pair other than 12, 16, 20", float64(other), "", "64", 0, 0),
	}
}

// figure5 counts for each static policy in how many cells it is best.
func figure5(l *lab, _ bool) []row {
	var cells []setup
	for _, packet := range []int64{2 << 10, 16 << 10, 128 << 10, 2 << 20} {
		for _, z := range []float64{0, 0.5, 1} {
			for _, p := range statics {
				s := usual("0347", p)
				s.packet, s.zipf, s.flow = packet, z, 1024*packet
				cells = append(cells, s)
			}
		}
	}
	gbps, err := l.gbps(cells...)
	if err != nil {
		return []row{failed("5", "{0,3,4,7}", err)}
	}
	best := make([]int, len(statics))
	for i := 0; i < len(gbps); i += len(statics) {
		cell := gbps[i : i+len(statics)]
		for j, v := range cell {
			if v >= 0.995*slices.Max(cell) {
				best[j]++
			}
		}
	}
	var rows []row
	for j, p := range statics {
		rows = append(rows, at("5", fmt.Sprintf("{0,3,4,7}: %s is best, of %d cells of packet size x Zipf", p, len(gbps)/len(statics)),
			float64(best[j]), "cells", "none is best in all", -endless, float64(len(gbps)/len(statics)-1)))
	}
	return rows
}

// figure6 compares multi-hop adaptive routing with direct routes.
func figure6(l *lab, quick bool) []row {
	var rows []row
	for n := 2; n <= 8; n++ {
		low, high, paper := 0.98, endless, ""
		switch n {
		case 2, 3:
			high, paper = 1.05, "about 1"
		case 8:
			low, paper = 2.35, "2.35"
		default:
			if quick {
				continue
			}
		}
		name := fmt.Sprintf("{0..%d}: adaptive / direct", n-1)
		g, err := l.gbps(usual(allGPUs[:n], "adaptive"), usual(allGPUs[:n], "direct"))
		if err != nil {
			rows = append(rows, failed("6", name, err))
			continue
		}
		rows = append(rows, at("6", name, g[0]/g[1], "x", paper, low, high))
	}
	return rows
}

// figure7 compares adaptive routing with the static policies.
func figure7(l *lab, _ bool) []row {
	var rows []row
	for n := 2; n <= 8; n++ {
		set := []setup{usual(allGPUs[:n], "adaptive")}
		for _, p := range statics {
			set = append(set, usual(allGPUs[:n], p))
		}
		g, err := l.gbps(set...)
		if err != nil {
			rows = append(rows, failed("7", fmt.Sprintf("{0..%d}", n-1), err))
			continue
		}
		rows = append(rows, at("7", fmt.Sprintf("{0..%d}: adaptive / best static", n-1), g[0]/slices.Max(g[1:]), "x", "", 0.98, endless))
		if n < 8 {
			continue
		}
		for i, c := range []struct {
			paper string
			low   float64
		}{{"5.37", 1.6}, {"3.45", 3.45}, {"2.64", 2.64}} {
			rows = append(rows, at("7", fmt.Sprintf("{0..7}: adaptive / %s", statics[i]), g[0]/g[i+1], "x", c.paper, c.low, endless))
		}
		// The latency policy is as bad as in the paper only where it prefers
		// staged copies.
		far := usual(allGPUs, "latency")
		far.far = true
		f, err := l.gbps(far)
		if err != nil {
			rows = append(rows, failed("7", "latency without staged copies", err))
			continue
		}
		rows = append(rows, at("7", "{0..7}: adaptive / latency, if staged copies took 10 µs longer", g[0]/f[0], "x", "", 0.98, endless))
	}
	return rows
}

// figure8 is the part of the bandwidth of the minimum cut that is used.
func figure8(l *lab, quick bool) []row {
	var rows []row
	used := map[string]float64{}
	for _, n := range []int{4, 6, 8} {
		if quick && n == 6 {
			continue
		}
		for _, p := range []string{"adaptive", "direct"} {
			name := fmt.Sprintf("{0..%d}: %s, of the minimum cut", n-1, p)
			s := usual(allGPUs[:n], p)
			g, err := l.gbps(s)
			bound, err2 := s.bound()
			if err := errors.Join(err, err2); err != nil {
				rows = append(rows, failed("8", name, err))
				continue
			}
			used[fmt.Sprint(p, n)] = g[0] / bound
			low, high, paper := -endless, 1.0, ""
			switch {
			case n == 8 && p == "adaptive":
				low, paper = 0.96, "0.97"
			case n == 8:
				high, paper = min(0.30, used["direct4"]), "0.30"
			}
			rows = append(rows, at("8", name, g[0]/bound, "of bound", paper, low, high))
		}
	}
	return rows
}

// figure9 places rows by a Zipf distribution.
func figure9(l *lab, quick bool) []row {
	var rows []row
	for _, c := range []struct{ z, low float64 }{{0, 0.95}, {0.25, 0}, {0.5, 0.90}, {0.75, 0}, {1, 0.82}} {
		if quick && c.z != 0 && c.z != 1 {
			continue
		}
		set := []setup{usual(allGPUs, "adaptive")}
		for _, p := range statics {
			set = append(set, usual(allGPUs, p))
		}
		for i := range set {
			set[i].zipf = c.z
		}
		g, err := l.gbps(set...)
		bound, err2 := set[0].bound()
		if err := errors.Join(err, err2); err != nil {
			rows = append(rows, failed("9", fmt.Sprint("Zipf ", c.z), err))
			continue
		}
		rows = append(rows,
			at("9", fmt.Sprintf("Zipf %g: adaptive, of the tightest cut", c.z), g[0]/bound, "of bound", "", c.low, 1),
			at("9", fmt.Sprintf("Zipf %g: adaptive / best static", c.z), g[0]/slices.Max(g[1:]), "x", "up to 3", 1, endless))
	}
	return rows
}
