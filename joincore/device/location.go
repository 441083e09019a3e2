package device

// Location is where memory is and where work is done: a device number, or Host.
type Location int

// Host is the location of host memory and CPU cores.
const Host Location = -1

// Segment is a part of a space that is scanned separately.
type Segment struct {
	Rows int
	At   Location // where its row ids are, and its columns if it has any
}
