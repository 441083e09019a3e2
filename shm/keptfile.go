package shm

import "fmt"

// KeptHeader is gj_kept_header, at the start of the file of kept columns; Columns of
// KeptColumn follow it.
type KeptHeader struct {
	Magic     uint32 `c:"magic"`
	Version   uint16 `c:"version"`
	Reserved  uint16 `c:"reserved"`
	Kept      uint64 `c:"kept"` // Load.Kept
	Columns   uint32 `c:"columns"`
	Reserved2 uint32 `c:"reserved2"`
}

// KeptColumn is gj_kept_column.
type KeptColumn struct {
	SystemIdentifier uint64 `c:"system_identifier"`
	ServerStart      int64  `c:"server_start"`
	Database         uint32 `c:"database"`
	Tablespace       uint32 `c:"tablespace"`
	File             uint32 `c:"file"`
	Attnum           int16  `c:"attnum"`
	Share            uint16 `c:"share"` // of the table's blocks, of WholeTable
}

// AppendKeptFile appends the content of a file of kept columns, of at most KeptColumns of
// them.
func AppendKeptFile(dst []byte, version uint64, columns []KeptColumn) []byte {
	columns = columns[:min(len(columns), KeptColumns)]
	return appendAll(Append(dst, &KeptHeader{
		Magic: KeptMagic, Version: LayoutVersion, Kept: version, Columns: uint32(len(columns)),
	}), columns)
}

// DecodeKeptFile returns the version and the columns of a file of kept columns.
func DecodeKeptFile(b []byte) (uint64, []KeptColumn, error) {
	h, columns, err := decodeList[KeptHeader, KeptColumn](b, func(h *KeptHeader) uint32 { return h.Columns })
	if err == nil && (h.Magic != KeptMagic || h.Version != LayoutVersion || h.Columns > KeptColumns) {
		err = fmt.Errorf("%w: file with magic %#x, version %d, %d columns", ErrKept, h.Magic, h.Version, h.Columns)
	}
	return h.Kept, columns, err
}
