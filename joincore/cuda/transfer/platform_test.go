package transfer

import (
	"strings"
	"testing"
)

// The platforms that the paper and the vendors' manuals distinguish.
var (
	pcie     = Platform{HostRegister: true, ConcurrentManaged: true, Free: 64 << 30}
	migrates = Platform{HostRegister: true, PageableAccess: true, ConcurrentManaged: true, Free: 64 << 30}
	coherent = Platform{HostRegister: true, PageableAccess: true, HostPageTables: true, ConcurrentManaged: true, Free: 64 << 30}
	poor     = Platform{}
)

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		p                        Platform
		registered, unregistered Method
	}{
		"PCIe":                     {pcie, Pinned, Staged},
		"PCIe, pages can move":     {migrates, Pinned, Staged},
		"coherent link":            {coherent, Pinned, Coherence},
		"nothing but copy engines": {poor, Pinned, Staged},
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
	for _, p := range []Platform{pcie, migrates, coherent, poor} {
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
		{pcie, Pageable, large, false, ""},
		{poor, Pageable, large, false, ""},
		{poor, Staged, large, false, ""},
		{pcie, Pinned, large, false, ""},
		{poor, Pinned, small, true, "cannot register"},
		{poor, ZeroCopy, small, true, "cannot register"},
		{poor, Dynamic, small, true, "cannot register"},
		{pcie, Coherence, small, true, "no access to pageable memory"},
		{migrates, Coherence, small, false, "only with -unified"},
		{migrates, Coherence, small, true, ""},
		{migrates, Coherence, large, true, "at most 1 GiB"},
		{coherent, Coherence, large, false, ""},
		{pcie, Prefetch, small, false, "only with -unified"},
		{pcie, Prefetch, small, true, ""},
		{pcie, Migration, unifiedMost, true, ""},
		{pcie, Migration, unifiedMost + 1, true, "at most 1 GiB"},
		{Platform{ConcurrentManaged: true, Free: 8*small - 1}, Migration, small, true, "an eighth"},
		{poor, Migration, small, true, "does not migrate managed pages on demand"},
	} {
		got := c.p.Absent(c.m, c.bytes, c.unified)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %d bytes, unified %v, on %+v: %q", c.m, c.bytes, c.unified, c.p, got)
		}
	}
}
