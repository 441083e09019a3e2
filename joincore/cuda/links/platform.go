package links

import (
	"fmt"
	"slices"
	"strings"
)

// Platform describes how a device can access host memory.
type Platform struct {
	HostRegister      bool  `json:"host_register"`      // memory can be page-locked after it was mapped
	HostAddresses     bool  `json:"host_addresses"`     // kernels access such memory at the host's addresses
	PageableAccess    bool  `json:"pageable_access"`    // kernels may access any memory, by whatever means
	HostPageTables    bool  `json:"host_page_tables"`   // they do so in hardware, without migrating pages
	ConcurrentManaged bool  `json:"concurrent_managed"` // managed pages migrate individually, on access
	Free              int64 `json:"free"`               // free device memory in bytes
}

// Choose returns the method by which the provider moves host memory, registered or not.
//
// For registered memory it is copy engines: they reach the link's rate, kernels a
// little less, and they leave all multiprocessors to joins. Kernels pull unregistered
// memory only if the hardware walks the host's page tables, because then no copy is
// needed. Otherwise threads stage it, which reaches the link's rate but takes cores.
func (p Platform) Choose(registered bool) Method {
	switch {
	case registered:
		return Pinned
	case p.HostPageTables:
		return Coherence
	}
	return Staged
}

// unifiedMost bounds migrating memory: a device can hang if it exceeds the free device memory.
const unifiedMost = 1 << 30

// Absent returns why the platform lacks a method for the given bytes, or "" if it has
// it. Methods that migrate pages are absent unless `unified`.
func (p Platform) Absent(m Method, bytes int64, unified bool) string {
	switch m {
	case Dynamic, Pinned, ZeroCopy:
		if !p.HostRegister {
			return "the device cannot register host memory"
		}
	case Coherence:
		switch {
		case !p.PageableAccess:
			return "the device has no access to pageable memory"
		case !p.HostPageTables:
			return p.moving("the device reaches pageable memory only by migrating its pages", bytes, unified)
		}
	case Prefetch, Migration:
		if !p.ConcurrentManaged {
			return "the platform does not migrate managed pages on demand"
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

// JoinUnified is the most managed memory of all executions on a device: inputs pass through it
// in pieces, so that joins of any size stay within the limits of such memory.
const JoinUnified = 64 << 20

// Unable returns why inputs of joins do not reach the device by a method, or "". Joins have more
// conditions than Absent: they read page-locked memory at the host's addresses, and never have pages
// of the process itself migrate.
func (p Platform) Unable(m Method) string {
	switch {
	case m == ZeroCopy && p.HostRegister && !p.HostAddresses:
		return "the device has addresses of its own for page-locked memory"
	case m == Coherence && p.PageableAccess && !p.HostPageTables:
		return "the device reaches pageable memory only by migrating its pages"
	}
	return p.Absent(m, JoinUnified, true)
}

// Method is a method of transfer between host and device. The zero value leaves the choice to the
// platform.
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

// names are the methods' names in settings, in the order of Methods.
var names = [...]string{"pageable", "staged", "dynamic", "pinned", "zero-copy", "coherence", "prefetch", "migration"}

// MethodNames returns what ParseMethod accepts.
func MethodNames() []string { return append([]string{"auto"}, names[:]...) }

// ParseMethod returns the method of a name in settings; "auto" is the zero value.
func ParseMethod(name string) (Method, error) {
	if i := slices.Index(names[:], name); i >= 0 {
		return Methods()[i], nil
	}
	if name != "auto" {
		return "", fmt.Errorf("%q is none of %s", name, strings.Join(MethodNames(), ", "))
	}
	return "", nil
}

// Name returns the method's name in settings.
func (m Method) Name() string {
	if i := slices.Index(Methods(), m); i >= 0 {
		return names[i]
	}
	return "auto"
}

// PageLocks reports whether the method wants host memory to be page-locked before it is copied.
func (m Method) PageLocks() bool { return m == "" || m == Pinned || m == ZeroCopy }

// Pulls reports whether kernels read the memory of the host.
func (m Method) Pulls() bool {
	return m == ZeroCopy || m == Coherence || m.Unified()
}

// Unified reports whether the method is one of managed memory.
func (m Method) Unified() bool { return m == Prefetch || m == Migration }

// Direction is the direction of a transfer: In, host to device, or Out, device to host.
type Direction string

// Directions.
const (
	In  Direction = "in"
	Out Direction = "out"
)
