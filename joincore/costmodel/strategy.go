package costmodel

import (
	"fmt"
	"slices"
)

// Strategy is a way to execute a job on the devices of a machine.
type Strategy uint8

const (
	// Auto is the strategy that is predicted to be the fastest.
	Auto Strategy = iota
	// Alone: one device executes the job.
	Alone
	// Replicate: devices divide the rows of one input, and each reads all others whole.
	Replicate
	// Divide: devices partition both inputs of a join through the memory of the host, and each
	// joins some of the partitions.
	Divide
	// Exchange: devices divide the rows of both inputs of a join, bring them to their memory, and
	// exchange them there, so that each joins the rows of some keys.
	Exchange
	// Spread: devices divide the rows of both inputs of a join, make one hash table of the build side in
	// the memory of all of them, and each joins its own rows of the probe side with that.
	Spread
	// Hybrid: as Spread, by one device or several. Of a table that exceeds their memory, the rest lies in
	// page-locked memory of the host.
	Hybrid
)

// strategies are their names, as a setting has them.
var strategies = [...]string{"auto", "alone", "replicate", "divide", "exchange", "spread", "hybrid"}

// Strategies returns the names of all strategies.
func Strategies() []string { return strategies[:] }

// Executed returns the strategies by which jobs are executed: all but Auto, which chooses one.
func Executed() []Strategy { return []Strategy{Alone, Replicate, Divide, Exchange, Spread, Hybrid} }

// Meets reports whether executions on devices meet at a join.
func (s Strategy) Meets() bool { return s == Exchange || s.OneTable() }

// OneTable reports whether devices make one hash table together.
func (s Strategy) OneTable() bool { return s == Spread || s == Hybrid }

// Fewest returns how many devices it takes at least to execute a job by the strategy; by Auto, for there to be
// a choice.
func (s Strategy) Fewest() int {
	if s == Alone || s == Hybrid {
		return 1
	}
	return 2
}

func (s Strategy) String() string { return strategies[s] }

// ParseStrategy returns the strategy of a name.
func ParseStrategy(name string) (Strategy, error) {
	i := slices.Index(strategies[:], name)
	if i < 0 {
		return Auto, fmt.Errorf("there is no strategy %q", name)
	}
	return Strategy(i), nil
}
