package columnar

import "gpujoin/joincore/costmodel"

// Names of the phases that algorithms report. The model predicts most of them by the
// same name; package selector says with which predicted phase the others go.
const (
	PhaseRange     = "range"   // of the build keys
	PhaseSummary   = "summary" // of a sample
	PhaseHistogram = costmodel.PhaseHistogram
	PhaseOffsets   = "offsets"
	PhaseFilter    = costmodel.PhaseFilter
	PhaseReduction = "reduction" // of the probe side by a filter
	PhaseBypass    = costmodel.PhaseBypass
	PhaseMatch     = costmodel.PhaseMatch
	PhaseClose     = "close" // the result's last rows move together
	PhaseReadBack  = "read back"
	PhaseTransfer  = "transfer" // the join waits for payload that is being uploaded
	PhaseSort      = costmodel.PhaseSort
	PhaseColumns   = "columns" // sorted one at a time
	PhaseMerge     = costmodel.PhaseMerge
	PhaseBuild     = costmodel.PhaseBuild
	PhaseProbe     = costmodel.PhaseProbe
	PhaseGather    = costmodel.PhaseGather
)

// Names of the phases of partitioning: build, probe.
var (
	PhaseFirstPass  = [2]string{"first pass, build", "first pass, probe"}
	PhaseSecondPass = [2]string{"second pass, build", "second pass, probe"}
)
