package links

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/mesh"
)

// Rates of links that were not measured: a PCIe 3 link with 16 lanes, and a connection
// between sockets. Latencies where none was measured.
const (
	pcieGBps        = 11
	socketGBps      = 20
	postedLatency   = 10 * time.Microsecond
	crossingLatency = 2 * time.Microsecond
)

// Mesh returns the mesh of the devices. Devices whose NVLinks lead to switches are
// connected through one switch. Each NUMA node is a host, to which its devices are
// connected by PCIe; nodes are connected with each other.
func (f *Facts) Mesh() (*mesh.Mesh, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	b := meshBuilder{facts: f}
	for i, d := range f.Devices {
		b.nodes = append(b.nodes, mesh.Node{Kind: mesh.GPU, Name: fmt.Sprintf("gpu%d %s", i, d.PCI)})
	}
	b.direct()
	b.switched()
	b.hosts()
	return mesh.New(f.Devices[0].Name, b.nodes, b.links, nil, 0)
}

type meshBuilder struct {
	facts *Facts
	nodes []mesh.Node
	links []mesh.Link
}

func (b *meshBuilder) node(kind mesh.NodeKind, name string) int {
	b.nodes = append(b.nodes, mesh.Node{Kind: kind, Name: name})
	return len(b.nodes) - 1
}

// direct adds the NVLinks between two devices.
func (b *meshBuilder) direct() {
	for _, p := range b.facts.Pairs {
		if gbps, half := fitLine(p.Sizes); p.Peer && p.NVLinks > 0 && gbps > 0 {
			b.links = append(b.links, mesh.Link{
				From: p.From, To: p.To, Kind: mesh.NVLink, Width: p.NVLinks, GBps: gbps, Half: half, Latency: p.Latency,
			})
		}
	}
}

// switched adds a switch and the links to and from it.
func (b *meshBuilder) switched() {
	var devices []int
	for i, d := range b.facts.Devices {
		if b.spare(i) > 0 && d.NVLinks > 0 {
			devices = append(devices, i)
		}
	}
	if len(devices) < 2 {
		return
	}
	hub := b.node(mesh.Switch, "nvswitch")
	for _, i := range devices {
		var out, in mesh.Link
		for _, j := range devices {
			if i == j {
				continue
			}
			widest(&out, b.facts.pair(i, j))
			widest(&in, b.facts.pair(j, i))
		}
		if out.GBps == 0 || in.GBps == 0 {
			continue
		}
		// The copy that was measured crosses two links.
		out.From, out.To, out.Kind, out.Width = i, hub, mesh.NVSwitch, b.spare(i)
		in.From, in.To, in.Kind, in.Width = hub, i, mesh.NVSwitch, b.spare(i)
		in.Latency = 0
		b.links = append(b.links, out, in)
	}
}

// spare returns how many NVLinks of a device do not lead to another device.
func (b *meshBuilder) spare(device int) int {
	n := b.facts.Devices[device].NVLinks
	for _, p := range b.facts.Pairs {
		if p.From == device {
			n -= p.NVLinks
		}
	}
	return n
}

// widest keeps what the fastest pair measured.
func widest(l *mesh.Link, p Pair) {
	if gbps, half := fitLine(p.Sizes); p.Peer && gbps > l.GBps {
		l.GBps, l.Half, l.Latency = gbps, half, p.Latency
	}
}

// hosts adds the NUMA nodes.
func (b *meshBuilder) hosts() {
	var numbers []int
	for _, d := range b.facts.Devices {
		numbers = append(numbers, d.NUMA)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	of := map[int]int{}
	for _, n := range numbers {
		of[n] = b.node(mesh.Host, fmt.Sprintf("numa%d", max(n, 0)))
	}
	for i, d := range b.facts.Devices {
		up, down := d.ToHost, d.ToDevice
		if up == 0 || down == 0 {
			up, down = pcieGBps, pcieGBps
		}
		b.links = append(b.links,
			mesh.Link{From: i, To: of[d.NUMA], Kind: mesh.PCIe, Width: 1, GBps: up, Latency: postedLatency},
			mesh.Link{From: of[d.NUMA], To: i, Kind: mesh.PCIe, Width: 1, GBps: down, Latency: crossingLatency})
	}
	for _, from := range numbers {
		for _, to := range numbers {
			if from != to {
				b.links = append(b.links, mesh.Link{From: of[from], To: of[to], Kind: mesh.Socket, Width: 1, GBps: b.between(from, to), Latency: crossingLatency})
			}
		}
	}
}

// between returns the rate between two NUMA nodes: the best copy between devices there
// that no NVLink connects.
func (b *meshBuilder) between(from, to int) float64 {
	best := 0.0
	for _, p := range b.facts.Pairs {
		x, y := b.facts.Devices[p.From], b.facts.Devices[p.To]
		if x.NUMA == from && y.NUMA == to && x.NVLinks == 0 && y.NVLinks == 0 {
			gbps, _ := fitLine(p.Sizes)
			best = max(best, gbps)
		}
	}
	if best == 0 {
		return socketGBps
	}
	return best
}

// pciPath returns the path of a PCI device through the bridges above it, and its NUMA node;
// "" and -1 if the system does not say.
func pciPath(sys, address string) (path string, numa int) {
	dir, numa := driver.PCIDevice(sys, address)
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", numa
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
