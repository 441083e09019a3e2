package exec

import (
	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// Plan describes one join to the algorithms: the match, and the build rows to
// return after probing.
type Plan struct {
	Match    device.Match
	Leftover bool // build rows are returned after all probing
	Found    bool // return those with a partner instead of those without
}

// PlanKind says how a kind of join is executed when one side is built. It
// fills Emit and Mark of the match.
//
//	kind   built right     built left
//	inner  pairs           pairs
//	left   outer           pairs, then build rows without partner
//	right  pairs, then …   outer
//	full   outer, then …   outer, then …
//	semi   semi            only marks, then build rows with a partner
//	anti   anti            only marks, then build rows without
func PlanKind(kind joincore.Kind, buildLeft bool, m device.Match) *Plan {
	p := &Plan{Match: m}
	p.Match.Emit = device.Pairs
	outer := kind == joincore.Full || kind == joincore.Left && !buildLeft || kind == joincore.Right && buildLeft
	if outer {
		p.Match.Emit = device.Outer
	}
	switch kind {
	case joincore.Full:
		p.Leftover = true
	case joincore.Left:
		p.Leftover = buildLeft
	case joincore.Right:
		p.Leftover = !buildLeft
	case joincore.Semi, joincore.Anti:
		p.Match.Emit = device.Semi
		if kind == joincore.Anti {
			p.Match.Emit = device.Anti
		}
		if buildLeft {
			p.Match.Emit = device.Nothing
			p.Leftover, p.Found = true, kind == joincore.Semi
		}
	}
	p.Match.Mark = p.Leftover
	return p
}

// keepsProbe says whether probe rows without a key are part of the result.
func (p *Plan) keepsProbe() bool {
	return p.Match.Emit == device.Outer || p.Match.Emit == device.Anti
}

// keepsBuild says the same of build rows.
func (p *Plan) keepsBuild() bool { return p.Leftover && !p.Found }
