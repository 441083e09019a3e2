package main

import (
	"slices"
	"time"
)

// multiSteps test what joins over several GPUs are made of, on a machine with GPUs and
// from programs built before. With one GPU, several simulated ones share it.
func multiSteps() []step {
	g := &gpu{}
	if *within > 0 {
		g.ends = time.Now().Add(*within)
	}
	steps := slices.Concat(
		[]step{{"gpu", "device", findDevice}},
		g.tests("driver", time.Minute, "-test.run", "Peer|Devices?$"),
		g.tests("links", 2*time.Minute),
		g.tests("fabric", 5*time.Minute),
		g.tests("mgj", 7*time.Minute),
	)
	for i := range steps {
		steps[i].group = "multi"
	}
	return steps
}
