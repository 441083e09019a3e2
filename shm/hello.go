package shm

import "bytes"

// Hello is gj_hello, the first message of a backend.
type Hello struct {
	ProtocolVersion  uint32 `c:"protocol_version"`
	LayoutVersion    uint32 `c:"layout_version"`
	LeaderPID        int32  `c:"leader_pid"` // of the parallel group, or the process's own
	Database         uint32 `c:"database"`
	SystemIdentifier uint64 `c:"system_identifier"`
}

// Welcome is gj_welcome, the answer to Hello.
type Welcome struct {
	ProtocolVersion uint32   `c:"protocol_version"`
	LayoutVersion   uint32   `c:"layout_version"`
	ExtentSize      uint64   `c:"extent_size"` // bytes of every extent
	PID             int32    `c:"pid"`
	Reserved        uint32   `c:"reserved"`
	Version         [32]byte `c:"version"` // NUL-terminated
}

// Text returns the bytes of b before its first NUL.
func Text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// PutText copies s into b, truncated so that b ends with a NUL. It replaces characters
// other than printable ASCII by question marks, because the reader's encoding is
// unknown.
func PutText(b []byte, s string) {
	clear(b)
	n := 0
	for _, r := range s {
		if n == len(b)-1 {
			break
		}
		b[n] = '?'
		if printable(r) {
			b[n] = byte(r)
		}
		n++
	}
}

func printable(r rune) bool { return r >= ' ' && r <= '~' }

// IsText reports whether b has the form that PutText produces, whatever follows
// the NUL.
func IsText(b []byte) bool {
	end := bytes.IndexByte(b, 0)
	return end >= 0 && bytes.IndexFunc(b[:end], func(r rune) bool { return !printable(r) }) < 0
}
