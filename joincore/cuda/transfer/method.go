package transfer

// Method is a way across the link.
type Method string

// Methods, those by which the host pushes first.
const (
	Pageable  Method = "pageable copy"     // the driver stages as it likes
	Staged    Method = "staged copy"       // threads copy to and from page-locked buffers
	Dynamic   Method = "dynamic pinning"   // each piece is page-locked while it is copied
	Pinned    Method = "pinned copy"       // the memory was page-locked before
	ZeroCopy  Method = "zero-copy"         // kernels access page-locked memory
	Coherence Method = "coherence"         // kernels access pageable memory
	Prefetch  Method = "unified prefetch"  // managed pages are moved ahead
	Migration Method = "unified migration" // managed pages move when a kernel touches them
)

// Methods returns all of them.
func Methods() []Method {
	return []Method{Pageable, Staged, Dynamic, Pinned, ZeroCopy, Coherence, Prefetch, Migration}
}

// Direction is across the link: In, from host to device, or Out.
type Direction string

// Directions.
const (
	In  Direction = "in"
	Out Direction = "out"
)
