package transfer

// Platform is what a machine's device can do with memory of the host.
type Platform struct {
	HostRegister      bool  `json:"host_register"`      // memory can be page-locked after it was mapped
	PageableAccess    bool  `json:"pageable_access"`    // kernels may access any memory, by whatever means
	HostPageTables    bool  `json:"host_page_tables"`   // they do so in hardware, byte by byte, and no page moves
	ConcurrentManaged bool  `json:"concurrent_managed"` // managed pages move one by one, as they are touched
	Free              int64 `json:"free"`               // bytes of device memory that nobody has
}

// Choose returns how the provider moves a piece of host memory, which was
// registered with it or was not.
//
// Copy engines come first: they reach the link's rate, kernels a little less,
// and leave all multiprocessors to joins. Memory that nobody has page-locked
// is pulled by kernels only where the hardware walks the host's page tables:
// there no copy of it is made. Where pages would move, or nothing else is left,
// threads stage it, which also uses the link fully but takes cores.
func (p Platform) Choose(registered bool) Method {
	switch {
	case registered:
		return Pinned
	case p.HostPageTables:
		return Coherence
	}
	return Staged
}

// unifiedMost bounds memory whose pages move to the device: a device that has
// more of it than free memory can hang.
const unifiedMost = 1 << 30

// Absent returns why the platform has no such method for so many bytes, ""
// where it has it. Methods that move pages must be asked for: unified.
func (p Platform) Absent(m Method, bytes int64, unified bool) string {
	switch m {
	case Dynamic, Pinned, ZeroCopy:
		if !p.HostRegister {
			return "the device cannot register memory of the host"
		}
	case Coherence:
		switch {
		case !p.PageableAccess:
			return "the device has no access to pageable memory"
		case !p.HostPageTables:
			return p.moving("pageable memory is reached by moving its pages", bytes, unified)
		}
	case Prefetch, Migration:
		if !p.ConcurrentManaged {
			return "managed pages do not move one by one here"
		}
		return p.moving("moves pages", bytes, unified)
	}
	return ""
}

func (p Platform) moving(what string, bytes int64, unified bool) string {
	switch {
	case !unified:
		return what + ": only with -unified"
	case bytes > unifiedMost:
		return what + ": at most 1 GiB"
	case bytes > p.Free/8:
		return what + ": at most an eighth of the free device memory"
	}
	return ""
}
