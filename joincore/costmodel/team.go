package costmodel

// Team is devices that join rows in their memory together. Each has an equal part of both sides.
type Team struct {
	Devices int
	GBps    float64 // that each sends to the others while it receives as much
}

// From joins of 8 to 132 bytes a row on 2 H100 and 2 H200.
const (
	// exchangeMS and replicateMS are what a join over several devices takes beyond its parts on one:
	// the host's time, more kernels, and the time until the first rows have arrived.
	exchangeMS, replicateMS = 0.4, 0.28
	// contention is by how much longer passes take while rows are sent.
	contention = 0.08
	// besideBuild is the part of the probe side's passes that runs while the build side is
	// replicated. If that is packed, measurements show that no pass hides how long it is sent.
	besideBuild = 0.35
	// lastRange is the part of the probe side's passes that hides nothing in an exchange: that
	// over the last range.
	lastRange = 0.1
	// mergeMS is what a filter of all devices' build keys takes beyond one of a device's own: the devices
	// merge parts of it, and the host waits until all have reduced their probe rows.
	mergeMS = 0.27
)

// CopiesWorth is how many bytes the copies of a small side save on links, at least, for each byte of its
// rows that is joined once more, if an exchange makes them (package mgj, selective broadcast).
const CopiesWorth = 8

// MS predicts a join of a device's part of the rows with those of the others, in ms: by Replicate or
// Exchange, with a Bloom filter of the build keys of all devices before any row is sent, or without. It is
// the passes and the match of one device, and what of sending they do not hide. false: payload cannot be sent,
// or a filter is of no use.
func (t Team) MS(r *DeviceRates, own Resident, how Strategy, bloom bool) (ms float64, ok bool) {
	n := int64(t.Devices)
	all := n * own.Rows[0]
	if bloom {
		if own.MatchRatio >= 1 || !r.FilterFits(all) {
			return 0, false
		}
		ms, own = r.reductionBy(&own, all)
		merged := float64(FilterBytes(all)) / t.GBps / perMS // read and written in parts
		ms += merged + mergeMS
	}
	own = twoPasses(own)
	m, carried := own.sent()
	if m.Build == Fetch || m.Probe == Fetch {
		return 0, false
	}
	p := r.Predict(&own, m)
	build, probe := p.Of(PhaseBuildSide), p.Of(PhaseProbeSide)
	bytes := func(side int) float64 { return float64(own.Rows[side]) * float64(own.KeyBytes+4*carried[side].Words) }
	start := exchangeMS
	if how == Replicate {
		start = replicateMS
	}
	copies := how == Replicate || bytes(1) >= float64((CopiesWorth+1)*n-1)*bytes(0)
	if copies { // the second pass and the match handle all build rows
		whole := own
		whole.Rows[0] = all
		w := r.Predict(&whole, m)
		second := (w.Of(PhaseBuildSide) - build) / 2
		ms += second + w.Of(PhaseMatch) - p.Of(PhaseMatch)
		build += second
	}
	var sent, contended, hidden float64
	if copies {
		sent = bytes(0) * float64(n-1)
		contended, hidden = build, build/2
		if m.Build != Pack {
			hidden += probe * besideBuild
		}
	} else {
		sent = (bytes(0) + bytes(1)) * float64(n-1) / float64(n)
		contended, hidden = build+probe, build+probe*(1-lastRange)
	}
	return ms + p.MS() + start + contention*contended + max(0, r.SendMS(sent, t.GBps)-hidden), true
}

// Exchange predicts an exchange, in ms, and whether a filter comes before it: it has to win clearly, because what it gains
// is as sure as the match ratio. false: payload cannot be sent.
func (t Team) Exchange(r *DeviceRates, own Resident) (ms float64, bloom, ok bool) {
	if ms, ok = t.MS(r, own, Exchange, false); !ok {
		return 0, false, false
	}
	if with, also := t.MS(r, own, Exchange, true); also && FilterHandicap*with < ms {
		return with, true, true
	}
	return ms, false, true
}

// Matching returns the join whose probe rows match as far as the expected result says, if its build keys
// differ: as many as the result has rows, all of them if that is unknown.
func (j Resident) Matching() Resident {
	j.MatchRatio = 1
	if j.ResultRows > 0 && j.ResultRows < j.Rows[1] {
		j.MatchRatio = float64(j.ResultRows) / float64(j.Rows[1])
	}
	return j
}

// mostWords is how many words of 4 bytes of a side's payload are sent with the keys; more are packed.
const mostWords = 8

// sent returns how payload is sent.
func (j *Resident) sent() (Materialisation, [2]Carried) {
	m := Materialisation{}
	if j.Shape == nil {
		for side, t := range []*Transform{&m.Build, &m.Probe} {
			if bytesOf(j.Payload[side]) > 4*mostWords {
				*t = Pack
			}
		}
	}
	return j.shape(m)
}

// twoPasses returns a join whose shape never has one pass only: the first one sends.
func twoPasses(j Resident) Resident {
	shape := j.Shape
	if shape == nil {
		return j // has two
	}
	j.Shape = func(m Materialisation) (Materialisation, [2]Carried) {
		m, c := shape(m)
		c[0].OnePass, c[1].OnePass = false, false
		return m, c
	}
	return j
}
