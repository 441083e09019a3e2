package rowid

// None is the position of a row that is not there: the NULL side of an outer
// join.
const None = ^uint32(0)
