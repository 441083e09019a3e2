package device

// Location is where memory lies and where work is done: a device by its
// number, or the host.
type Location int

// Host is the location of the host's memory and cores.
const Host Location = -1

// Segment is a part of a space that is scanned apart.
type Segment struct {
	Rows int
	At   Location // where its row numbers lie, and its columns where it has some
}
