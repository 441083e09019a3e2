package links

import (
	"strings"
	"testing"
)

// The platforms that the paper and the vendors' manuals distinguish.
var (
	pciePlatform      = Platform{HostRegister: true, ConcurrentManaged: true, Free: 64 << 30}
	migratingPlatform = Platform{HostRegister: true, PageableAccess: true, ConcurrentManaged: true, Free: 64 << 30}
	coherentPlatform  = Platform{HostRegister: true, PageableAccess: true, HostPageTables: true, ConcurrentManaged: true, Free: 64 << 30}
	poorPlatform      = Platform{}
)

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		p                        Platform
		registered, unregistered Method
	}{
		"PCIe":                     {pciePlatform, Pinned, Staged},
		"PCIe, pages can move":     {migratingPlatform, Pinned, Staged},
		"coherent link":            {coherentPlatform, Pinned, Coherence},
		"nothing but copy engines": {poorPlatform, Pinned, Staged},
	} {
		if got := c.p.Choose(true); got != c.registered {
			t.Errorf("%s, registered: %s", name, got)
		}
		if got := c.p.Choose(false); got != c.unregistered {
			t.Errorf("%s, not registered: %s", name, got)
		}
	}
}

// The provider never uses a method that the platform lacks.
func TestChosenMethodIsThere(t *testing.T) {
	for _, p := range []Platform{pciePlatform, migratingPlatform, coherentPlatform, poorPlatform} {
		for _, registered := range []bool{false, p.HostRegister} {
			if m := p.Choose(registered); p.Absent(m, 1<<40, false) != "" {
				t.Errorf("%+v has no %s: %s", p, m, p.Absent(m, 1<<40, false))
			}
		}
	}
}

func TestAbsent(t *testing.T) {
	const small, large = 16 << 20, 2 << 30
	for _, c := range []struct {
		p       Platform
		m       Method
		bytes   int64
		unified bool
		want    string // "": the platform has the method
	}{
		{pciePlatform, Pageable, large, false, ""},
		{poorPlatform, Pageable, large, false, ""},
		{poorPlatform, Staged, large, false, ""},
		{pciePlatform, Pinned, large, false, ""},
		{poorPlatform, Pinned, small, true, "cannot register"},
		{poorPlatform, ZeroCopy, small, true, "cannot register"},
		{poorPlatform, Dynamic, small, true, "cannot register"},
		{pciePlatform, Coherence, small, true, "no access to pageable memory"},
		{migratingPlatform, Coherence, small, false, "only with -unified"},
		{migratingPlatform, Coherence, small, true, ""},
		{migratingPlatform, Coherence, large, true, "at most 1 GiB"},
		{coherentPlatform, Coherence, large, false, ""},
		{pciePlatform, Prefetch, small, false, "only with -unified"},
		{pciePlatform, Prefetch, small, true, ""},
		{pciePlatform, Migration, unifiedMost, true, ""},
		{pciePlatform, Migration, unifiedMost + 1, true, "at most 1 GiB"},
		{Platform{ConcurrentManaged: true, Free: 8*small - 1}, Migration, small, true, "an eighth"},
		{poorPlatform, Migration, small, true, "does not migrate managed pages on demand"},
	} {
		got := c.p.Absent(c.m, c.bytes, c.unified)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %d bytes, unified %v, on %+v: %q", c.m, c.bytes, c.unified, c.p, got)
		}
	}
}
