package exec

import (
	"sync/atomic"
	"time"

	"gpujoin/joincore"
)

// Counter collects the statistics of one join.
type Counter struct {
	Clock Clock        // of workers: building in tasks, probing
	Build Clock        // of it: building
	In    atomic.Int64 // probe rows
	Out   atomic.Int64 // result rows
	// BuildPrepare and ProbePrepare are the elapsed times of preparing each
	// side with all cores: building one table or transforming a relation.
	BuildPrepare, ProbePrepare time.Duration
}

// Phases returns the time of each phase of a join by algorithm a on the given
// number of workers.
func (c *Counter) Phases(a joincore.Algorithm, workers int) []joincore.Phase {
	var out []joincore.Phase
	add := func(name string, took time.Duration) {
		out = append(out, joincore.Phase{Name: name, Actual: took})
	}
	switch a {
	case joincore.NPJ:
		add("build", c.BuildPrepare)
	case joincore.PHJUM, joincore.PHJOM:
		add("partition build side", c.BuildPrepare)
		add("partition probe side", c.ProbePrepare)
	case joincore.SMJUM, joincore.SMJOM:
		add("sort build side", c.BuildPrepare)
		add("sort probe side", c.ProbePrepare)
	}
	add("match", c.Clock.Each(workers))
	return out
}

// Time returns the total time of all phases.
func (c *Counter) Time(workers int) time.Duration {
	return c.BuildPrepare + c.ProbePrepare + c.Clock.Each(workers)
}

// timed adds what f takes to t.
func timed(t *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*t += time.Since(start)
	return err
}
