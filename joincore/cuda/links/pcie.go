package links

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pciPath returns the path of a PCI device through the bridges above it, and its NUMA node;
// "" and -1 if the system does not say. address is the driver's: the domain may have more
// digits than the system's.
func pciPath(root, address string) (path string, numa int) {
	numa = -1
	address = strings.ToLower(address)
	if domain, rest, ok := strings.Cut(address, ":"); ok && len(domain) > 4 {
		address = domain[len(domain)-4:] + ":" + rest
	}
	path, err := filepath.EvalSymlinks(filepath.Join(root, address))
	if err != nil {
		return "", numa
	}
	if text, err := os.ReadFile(filepath.Join(path, "numa_node")); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n >= 0 {
			numa = n
		}
	}
	return path, numa
}

// pathBetween describes the way between two PCI devices by their paths and NUMA nodes.
func pathBetween(a, b string, numaA, numaB int) string {
	if a == "" || b == "" {
		return ""
	}
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	bridges := 0 // that both paths have, host bridge included
	for i := range min(len(x), len(y)) - 1 {
		if x[i] != y[i] {
			break
		}
		if strings.Contains(x[i], ":") {
			bridges++
		}
	}
	switch {
	case bridges > 1:
		return "PCIe switch"
	case bridges == 1:
		return "host bridge"
	case numaA >= 0 && numaA == numaB:
		return "NUMA node"
	case numaA >= 0 && numaB >= 0:
		return "sockets"
	}
	return "host"
}
