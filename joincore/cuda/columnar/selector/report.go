//go:build cuda

package selector

import (
	"time"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
)

// Phases returns the phases of a report by the model's names, with the predictions, in
// the order of execution.
func Phases(r *columnar.Report) (list []joincore.Phase) {
	at := func(name string) *joincore.Phase {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
		list = append(list, joincore.Phase{Name: name})
		return &list[len(list)-1]
	}
	for _, p := range r.Phases {
		at(PhaseOf(p.Name)).Actual += duration(p.MS)
	}
	for _, p := range r.Predicted {
		at(p.Name).Predicted += duration(p.MS)
	}
	return list
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
