package rowid

// None is the position of a row that is not there: the NULL side of an outer
// join.
const None = ^uint32(0)

const (
	// firstRows and nextRows are those of the first two launches, which show how many
	// groups there are.
	firstRows, nextRows = 1 << 14, 1 << 22
)
