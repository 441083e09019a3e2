package links

import (
	"slices"
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

// Joins have each method, of inputs of any size, or there is a reason.
func TestUnable(t *testing.T) {
	seen := func(p Platform) Platform { p.HostAddresses = true; return p }
	all := []string{"", "", "", "", "", "", "", ""}
	with := func(reasons map[Method]string) []string {
		list := slices.Clone(all)
		for i, m := range Methods() {
			list[i] = reasons[m]
		}
		return list
	}
	const migrates, locks = "does not migrate managed pages on demand", "cannot register host memory"
	for name, c := range map[string]struct {
		p    Platform
		want []string // parts of reasons
	}{
		"PCIe":                 {seen(pciePlatform), with(map[Method]string{Coherence: "no access to pageable memory"})},
		"PCIe, pages can move": {seen(migratingPlatform), with(map[Method]string{Coherence: "only by migrating its pages"})},
		"coherent link":        {seen(coherentPlatform), all},
		"own addresses":        {coherentPlatform, with(map[Method]string{ZeroCopy: "addresses of its own"})},
		"nothing but copy engines": {poorPlatform, with(map[Method]string{
			Dynamic: locks, Pinned: locks, ZeroCopy: locks, Coherence: "no access to pageable memory", Prefetch: migrates, Migration: migrates,
		})},
		"little free memory": {Platform{HostRegister: true, HostAddresses: true, PageableAccess: true, HostPageTables: true, ConcurrentManaged: true, Free: 8*JoinUnified - 1},
			with(map[Method]string{Prefetch: "an eighth of the free", Migration: "an eighth of the free"})},
	} {
		for i, m := range Methods() {
			if got := c.p.Unable(m); (got == "") != (c.want[i] == "") || !strings.Contains(got, c.want[i]) || strings.Contains(got, "-unified") {
				t.Errorf("%s, %s: %q", name, m, got)
			}
		}
		if got := c.p.Unable(""); got != "" {
			t.Errorf("%s, the platform's choice: %q", name, got)
		}
	}
}

// Each method has one name in settings, and "auto" is the choice of the platform.
func TestMethodNames(t *testing.T) {
	list := MethodNames()
	if len(list) != 1+len(Methods()) {
		t.Fatalf("%q", list)
	}
	for i, m := range append([]Method{""}, Methods()...) {
		if got, err := ParseMethod(list[i]); err != nil || got != m || m.Name() != list[i] {
			t.Errorf("%s: %q, %v; %q is %s", list[i], got, err, m, m.Name())
		}
	}
	for _, name := range []string{"", "Pinned", "pinned copy", "none"} {
		if m, err := ParseMethod(name); err == nil || !strings.Contains(err.Error(), "auto, pageable, staged") {
			t.Errorf("%q is %q: %v", name, m, err)
		}
	}
}

// Only methods that want page-locked memory have it locked, and only pull methods need kernels.
func TestWantsOfMethods(t *testing.T) {
	for m, want := range map[Method][3]bool{ // page-locked memory, kernels, managed memory
		"": {true, false, false}, Pageable: {}, Staged: {}, Dynamic: {}, Pinned: {true, false, false}, ZeroCopy: {true, true, false},
		Coherence: {false, true, false}, Prefetch: {false, true, true}, Migration: {false, true, true},
	} {
		if got := [3]bool{m.PageLocks(), m.Pulls(), m.Unified()}; got != want {
			t.Errorf("%s: %v", m, got)
		}
	}
}
