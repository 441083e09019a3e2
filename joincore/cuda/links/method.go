package links

// Method is a method of transfer between host and device.
type Method string

// Methods, push methods first.
const (
	Pageable  Method = "pageable copy"     // the driver stages
	Staged    Method = "staged copy"       // threads copy to and from page-locked buffers
	Dynamic   Method = "dynamic pinning"   // each piece is page-locked while it is copied
	Pinned    Method = "pinned copy"       // the memory was page-locked before
	ZeroCopy  Method = "zero-copy"         // kernels access page-locked memory
	Coherence Method = "coherence"         // kernels access pageable memory
	Prefetch  Method = "unified prefetch"  // managed pages are migrated ahead
	Migration Method = "unified migration" // managed pages migrate when a kernel accesses them
)

// Methods returns all methods.
func Methods() []Method {
	return []Method{Pageable, Staged, Dynamic, Pinned, ZeroCopy, Coherence, Prefetch, Migration}
}

// Direction is the direction of a transfer: In, host to device, or Out, device to host.
type Direction string

// Directions.
const (
	In  Direction = "in"
	Out Direction = "out"
)
