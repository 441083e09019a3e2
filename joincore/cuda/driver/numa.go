package driver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nearestNode returns the NUMA node that a PCI device is attached to; -1 if the machine has
// only one node, or the system does not say.
func nearestNode(sys, address string) int {
	nodes, err := os.ReadFile(filepath.Join(sys, "devices", "system", "node", "online"))
	if err != nil || !strings.ContainsAny(string(nodes), ",-") {
		return -1
	}
	_, node := PCIDevice(sys, address)
	return node
}

// PCIDevice returns where the system describes a PCI device, and its NUMA node; -1 if the
// system does not say. sys is where sysfs is mounted; address is the driver's, whose domain may
// have more digits than the system's.
func PCIDevice(sys, address string) (dir string, node int) {
	address = strings.ToLower(address)
	if domain, rest, ok := strings.Cut(address, ":"); ok && len(domain) > 4 {
		address = domain[len(domain)-4:] + ":" + rest
	}
	dir = filepath.Join(sys, "bus", "pci", "devices", address)
	text, err := os.ReadFile(filepath.Join(dir, "numa_node"))
	if err != nil {
		return dir, -1
	}
	if node, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil || node < 0 {
		return dir, -1
	}
	return dir, node
}
