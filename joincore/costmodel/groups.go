package costmodel

// Grouping describes filters and an aggregate over rows before they run.
type Grouping struct {
	Rows, Groups int64
	Bytes        int64 // of the columns of a row that are read
	Operations   int   // comparisons and operations of a row
	Functions    int   // of the aggregate; 0: the rows are only filtered
}

// Times of a core for a row, in ns: an operation, finding a group, and adding a value
// to it. Groups that do not fit a core's cache are partitioned first, which takes as
// long as finding them a few times.
const (
	operationNS  = 1.5
	findGroupNS  = 8
	addValueNS   = 2
	cachedGroups = 1 << 16
	farGroupNS   = 15
)

// PredictGroups returns the predicted time, in ms, of filters and an aggregate on the
// given number of cores.
func PredictGroups(g Grouping, cores int) float64 {
	ns := operationNS * float64(g.Operations)
	if g.Functions > 0 {
		ns += findGroupNS + addValueNS*float64(g.Functions)
		if g.Groups > cachedGroups {
			ns += farGroupNS
		}
	}
	return float64(g.Rows) * ns / float64(max(cores, 1)) / perMS
}

// What a device takes for a row and for each operation, in ns, as measured on an H100,
// and the groups that a block keeps in shared memory. A table has at least twice as many
// slots as groups.
const (
	deviceRowNS       = 0.008
	deviceOperationNS = 0.004
	blockGroups       = 1 << 12
	groupKeyBytes     = 8
	groupCellBytes    = 16 // that a function adds to
)

// PredictGroups returns the predicted time, in ms, of filters and an aggregate of
// columns in the device's memory. They are read once, and expressions are evaluated
// meanwhile. Values are added to few groups in shared memory, else where the table is.
func (r *DeviceRates) PredictGroups(g Grouping) float64 {
	rows := float64(g.Rows)
	read, work := rows*float64(g.Bytes)/r.ReadGB, rows*(deviceRowNS+deviceOperationNS*float64(g.Operations+g.Functions))
	ms := r.LaunchMS + max(read, work)/perMS
	if g.Functions == 0 || g.Groups <= blockGroups {
		return ms
	}
	rate := r.CachedGps
	if 2*float64(g.Groups)*float64(groupKeyBytes+groupCellBytes*g.Functions) > r.CacheMB*1e6 {
		rate = r.FetchGps
	}
	return ms + rows*float64(1+g.Functions)/rate/perMS
}
