package phj

// sendDescriptor mirrors gj_send of kernels/layout/send.h, where the fields are
// documented. A test compares the fields; the size is checked again when the kernels are
// loaded.
type sendDescriptor struct {
	Base, Capacity [MaxDevices]uint64
	Members        uint64
	To, Full       uint64
	Front, Rest    uint64
	Cursor, Tail   uint64
	FirstRow       uint64
	Lanes          [MaxDevices]uint64
}

// MaxDevices is the most devices of a join.
const MaxDevices = 16

const sendBytes = (3*MaxDevices + 8) * 8
