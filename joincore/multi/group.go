package multi

import (
	"context"

	"gpujoin/joincore"
	"gpujoin/joincore/exchange/live"
)

// Group is the memory of the members, as many as the mesh has GPUs, and the links
// between them. Its methods are safe for concurrent use.
type Group interface {
	live.Fabric
	// Rows returns memory of a member for rows, at least 1 byte, of unspecified
	// content. Its host memory comes from mem.
	Rows(mem joincore.Memory, member int, bytes int64) (Rows, error)
}

// Rows is memory of a member that the host writes before an exchange and reads after
// it. One goroutine uses it at a time.
type Rows interface {
	// Buffer returns the memory that copies read and write.
	Buffer() live.Buffer
	// Bytes returns what the host reads and writes. It is 64-byte aligned.
	Bytes() []byte
	// Upload makes bytes that the host has written visible to copies.
	Upload(ctx context.Context, offset, bytes int64) error
	// Download makes bytes that copies have written visible to the host.
	Download(ctx context.Context, offset, bytes int64) error
	// Free releases the memory. No copy uses it any more.
	Free()
}
