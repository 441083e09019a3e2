package columnar

// Descriptors whose layout package columnar_test compares with that of the kernels.
type (
	TableDescriptor  = tableDescriptor
	SpreadDescriptor = spreadDescriptor
	SortDescriptor   = sortDescriptor
	MergeDescriptor  = mergeDescriptor
	EqualRun         = equalRun
)
