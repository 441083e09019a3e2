package outofcore

// Co-partitions and windows share the memory of a device: windows are partitioned first, and
// those that stay on the device are there while co-partitions are joined.

// maxSplitBits bounds the fan-out: each window's part of a co-partition is a
// separate copy, and small copies are dominated by their fixed cost.
const maxSplitBits = 7

// PartitionBytes is what the partitions of a row's key take on the device: the key and the
// row number, twice.
const PartitionBytes = 24

// sideBytes estimates the device memory of a side of a join.
type sideBytes struct {
	columns    int64
	narrow     int64 // columns that are stored in fewer bytes, before they are widened
	partitions int64 // keys and row numbers, twice
}

// copartitionBytes estimates the device memory that the join of a co-partition takes. The
// columns of two co-partitions are on the device at a time.
func copartitionBytes(build, probe sideBytes, bits int) int64 {
	columns := build.columns + build.narrow + probe.columns + probe.narrow
	return (2*columns + build.partitions + probe.partitions) >> bits
}

// fanoutBits returns the radix bits by which co-partitions fit free bytes of memory.
func fanoutBits(free int64, build, probe sideBytes) int {
	bits := 1
	for bits < maxSplitBits && copartitionBytes(build, probe, bits) > free/4*3 {
		bits++
	}
	return bits
}

// overflows reports whether the columns of the largest co-partition, and the partitions of its
// keys, are too large for free bytes of memory.
func overflows(free, columns, partitions int64) bool { return 2*columns+partitions > free/5*4 }

// residentBytes returns how many of free bytes partitioned windows may stay in. The rest has
// to suffice for windows in flight, and later for co-partitions, which may turn out larger
// than expected.
func residentBytes(free, inFlight, copartition int64) int64 {
	return max(min(free/10*9-inFlight, free-copartition/2*3), 0)
}

// worthStaying reports whether windows should stay on devices of a join with that fan-out: at
// least an eighth of the inputs has to fit. Otherwise the memory is better used for larger
// windows and co-partitions.
func worthStaying(free int64, build, probe sideBytes, rowBytes int64, bits, devices int) bool {
	rows := windowTarget(free, rowBytes, true)
	stay := residentBytes(free, rows*(4*rowBytes+1), copartitionBytes(build, probe, bits))
	return int64(devices)*stay >= (build.columns+probe.columns)/8
}

// mostRows bounds the rows of a window: enough to fill the device, few enough that
// the first windows are partitioned early.
const mostRows = 1 << 24

// windowTarget returns the rows of a window of rows of the given bytes. Memory is needed for
// two windows being uploaded and two being downloaded. If windows may stay on the device,
// they get three quarters of it.
func windowTarget(free, rowBytes int64, stay bool) int64 {
	free = free / 10 * 9
	if stay {
		free /= 4
	}
	return max(min(mostRows, free/(4*rowBytes+2)), 1)
}
