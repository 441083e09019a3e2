package harness

// JobPhases are the times of an executed plan's jobs in ms. Jobs, and the phases of one, may
// overlap.
type JobPhases struct{ Feed, Join, Return float64 }

// JobPhases adds up the times of the plan's jobs that the daemon executed. Of the participants
// of each, the slowest counts.
func (n Node) JobPhases() (p JobPhases) {
	for _, job := range n.Jobs() {
		if job.Text("Fallback") != "" || job.Text("Provider") == "" {
			continue
		}
		p.Feed += job.slowest("Feed Time", "Feed Wait Time")
		p.Join += job.Number("Join Time")
		p.Return += job.slowest("Return Time", "")
	}
	return p
}

// slowest returns the largest value of a property among the participants, minus a waiting
// time.
func (n Node) slowest(property, without string) (most float64) {
	for _, p := range n.Participants() {
		most = max(most, p.Number(property)-p.Number(without))
	}
	return most
}
