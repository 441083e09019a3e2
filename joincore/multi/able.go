package multi

import (
	"slices"
	"strings"

	"gpujoin/joincore"
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
)

// Unable returns why members execute no plan by a strategy, whatever the plan, or "".
func Unable(members []device.Provider, how costmodel.Strategy) string {
	if how == costmodel.Auto || how == costmodel.Alone {
		return ""
	}
	if len(members) < how.Fewest() {
		return "there is one device"
	}
	switch how {
	case costmodel.Divide:
		if slices.ContainsFunc(members, func(p device.Provider) bool { _, ok := p.(partitioner); return !ok }) {
			return "devices do not partition inputs together"
		}
	case costmodel.Exchange, costmodel.Spread, costmodel.Hybrid:
		p, ok := members[0].(team)
		if !ok {
			return notMet(how)
		}
		nothing := &device.Exchange{Spread: how.OneTable(), Hosted: how == costmodel.Hybrid, Rows: [2]*joincore.Relation{{}, {}}}
		if err := p.Meets(members, nothing); err != nil {
			return plain(err)
		}
	}
	return ""
}

// Staged returns why rows that members exchange pass through the memory of the host, if that is how they
// execute plans, or "".
func Staged(members []device.Provider, how costmodel.Strategy) string {
	if p, ok := members[0].(staging); ok && how == costmodel.Exchange && len(members) > 1 {
		return p.Staged(members)
	}
	return ""
}

// Unfit returns why members cannot execute a plan by a strategy, or "".
func Unfit(members []device.Provider, how costmodel.Strategy, plan *joincore.Checked, inputs []*joincore.Relation) string {
	if reason := Unable(members, how); reason != "" {
		return reason
	}
	switch how {
	case costmodel.Replicate:
		divided, ok := Divide(plan, inputs)
		switch {
		case !ok:
			return "no input can be divided among devices"
		case !slices.ContainsFunc(members, func(p device.Provider) bool { return !Holds(p, inputs, divided) }):
			return ""
		}
		return "a device has too little memory for the other inputs"
	case costmodel.Divide:
		if !canPartition(members[0], plan) {
			return "devices partition one join of two inputs"
		}
	case costmodel.Exchange, costmodel.Spread, costmodel.Hybrid:
		if _, err := Meeting(members, how, plan, inputs); err != nil {
			return plain(err)
		}
	}
	return ""
}

// plain returns the text of an error without that of joincore.ErrUnsupported at its end: a reason
// why something is not done need not say that it is not.
func plain(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+joincore.ErrUnsupported.Error())
}
