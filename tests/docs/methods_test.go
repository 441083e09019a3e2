package docs

import (
	"slices"
	"strings"
	"testing"

	"gpujoin/joincore/cuda/links"
)

// The setting has the names of all methods of transfer, as the page on kernels does.
func TestTransferMethods(t *testing.T) {
	var values []string
	for _, s := range daemonSettings(t) {
		if s.name == "cuda_transfer_method" {
			values = all("`([a-z-]+)`", s.values)
		}
	}
	if !slices.Equal(values, links.MethodNames()) {
		t.Errorf("the setting has %q, the worker %q", values, links.MethodNames())
	}
	page := read(t, "docs", "internals", "gpu-kernels.md")
	for _, name := range links.MethodNames() {
		if !strings.Contains(page, "`"+name+"`") && name != "auto" {
			t.Errorf("gpu-kernels.md does not describe %s", name)
		}
	}
}
