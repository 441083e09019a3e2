package rowid

const (
	// None is the position of a row that is not there: the NULL side of an
	// outer join.
	None = ^uint32(0)
	// MaxRows bounds the rows of a space and of an input.
	MaxRows = 1<<32 - 1<<20
)
