package sim

import (
	"errors"
	"fmt"

	"gpujoin/testsupport/sim"
)

// rings shows what the paper's single ring for each neighbour does, and what
// buffers by hop class do.
func rings(l *lab, quick bool) []row {
	var rows []row
	for _, c := range []struct {
		policy string
		slots  int
	}{{"adaptive", 2}, {"adaptive", 4}, {"bandwidth", 4}, {"bandwidth", 8}} {
		if quick && c.slots != 4 {
			continue
		}
		s := usual(allGPUs, c.policy)
		s.slots, s.flow = c.slots, flowBytes/2
		bound, err := s.bound()
		name := fmt.Sprintf("%s, %d slots", c.policy, c.slots)
		g, err2 := l.gbps(s)
		if err := errors.Join(err, err2); err != nil {
			rows = append(rows, failed("4.1", name+" a hop class", err))
			continue
		}
		rows = append(rows, at("4.1", name+" a hop class: no stall", g[0]/bound, "of bound", "", 0, 1))
		s.shared = true
		stalls := 0.0
		if _, err := l.get(s); errors.Is(err, sim.ErrStall) {
			stalls = 1
		}
		rows = append(rows, at("4.1", name+", one ring a neighbour: deadlock", stalls, "", "not mentioned", 1, 1))
	}
	return rows
}

// anyMesh runs random meshes with a single slot a class. The simulator checks
// that every packet arrives once, that no slot is overrun and nothing stalls.
func anyMesh(l *lab, quick bool) []row {
	const name = "random meshes, 1 slot a class, that break a rule or stall"
	seeds := 500
	if quick {
		seeds = 50
	}
	broken := 0
	l.cores <- struct{}{}
	defer func() { <-l.cores }()
	for seed := range seeds {
		o, err := sim.Random(uint64(1000 + seed))
		if err == nil {
			_, err = sim.Run(o)
		}
		if err != nil {
			broken++
		}
	}
	return []row{at("engine", fmt.Sprintf("%s, of %d", name, seeds), float64(broken), "meshes", "", 0, 0)}
}
