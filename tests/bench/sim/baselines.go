package sim

import (
	"fmt"
)

// figure10 compares with the centralised baseline.
func figure10(l *lab, _ bool) []row {
	free := usual(allGPUs, "adaptive")
	free.central = true
	total := free
	total.sync = l.sync
	g, err := l.gbps(usual(allGPUs, "adaptive"), free, total)
	if err != nil {
		return []row{failed("10", "centralised", err)}
	}
	return []row{
		at("10", "centralised / adaptive: time to transfer", g[0]/g[1], "x", "0.97", 0.96, 1.04),
		at("10", fmt.Sprintf("centralised / adaptive: with synchronisations of %v", l.sync), g[0]/g[2], "x", "up to 1.5", 1.1, 1.7),
	}
}

// figure12 is the part of a join's time in which only the exchange goes on.
func figure12(l *lab, _ bool) []row {
	var rows []row
	for _, n := range []int{4, 6, 8} {
		name := fmt.Sprintf("{0..%d}: time in transfers alone", n-1)
		s, d := usual(allGPUs[:n], "adaptive"), usual(allGPUs[:n], "direct")
		g, err := l.gbps(s, d)
		if err != nil {
			rows = append(rows, failed("12", name, err))
			continue
		}
		bytes := float64(flowBytes) * float64(n) // of each GPU
		crossing := float64(flowBytes) * float64(n*(n-1))
		scan, pass := bytes/scanGBps, bytes/passGBps
		// DPRJ: histogram, pass, exchange, pass, probe, one after the other.
		// MG-Join: both passes go on during the exchange. The paper packs rows
		// to between 1/1.3 and 1/2.
		direct := crossing / g[1]
		compute := 2*pass + 2*scan
		dprj := direct / (direct + compute)
		high := 0.35
		if n == 8 {
			high = 0.20
		}
		rows = append(rows, at("12", name+", DPRJ", dprj, "of join", "up to 0.72", 0.5, 1))
		for _, packed := range []float64{1, 2} {
			alone := max(crossing/g[0]/packed-2*pass, 0)
			share := alone / (alone + compute)
			if packed == 1 {
				rows = append(rows, at("12", name+", MG-Join / DPRJ, rows not packed", share/dprj, "x", "", 0, 0.99))
				continue
			}
			rows = append(rows, at("12", name+", MG-Join, rows packed to half", share, "of join", fmt.Sprintf("< %g", high), 0, high))
		}
	}
	return rows
}
