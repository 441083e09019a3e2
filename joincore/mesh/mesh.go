// Package mesh describes how the GPUs of a machine are connected: nodes, directed links, the
// hops that one copy can cross, routes over several GPUs, and the bandwidth of cuts. It
// describes; it neither discovers nor moves anything.
package mesh

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrInvalid is wrapped by every error about a mesh that contradicts itself.
var ErrInvalid = errors.New("invalid mesh")

// Limits of a mesh. They bound the work of routes and cuts.
const (
	MostGPUs  = 16
	MostNodes = 64
	MostLinks = 1024
)

// NodeKind is what a node is.
type NodeKind uint8

const (
	// GPU is a device that stores, computes and forwards.
	GPU NodeKind = iota
	// Host is a processor socket with its memory: a copy that crosses it is staged there.
	Host
	// Switch forwards without storing: an NVSwitch, a PCIe switch.
	Switch
)

// Kind is what a link is made of.
type Kind uint8

const (
	// NVLink connects two GPUs, or a GPU and a socket, directly.
	NVLink Kind = iota
	// NVSwitch connects a GPU with the switches that connect all GPUs.
	NVSwitch
	// PCIe connects GPUs, PCIe switches and sockets.
	PCIe
	// Socket connects sockets: QPI, UPI, X-Bus, Infinity Fabric.
	Socket
	// C2C connects the GPU and the processor of one package.
	C2C
)

var (
	nodeKinds = []string{"gpu", "host", "switch"}
	linkKinds = []string{"nvlink", "nvswitch", "pcie", "socket", "c2c"}
)

func (k NodeKind) valid() bool { return int(k) < len(nodeKinds) }
func (k Kind) valid() bool     { return int(k) < len(linkKinds) }

func (k NodeKind) String() string { return name(nodeKinds, int(k)) }
func (k Kind) String() string     { return name(linkKinds, int(k)) }

func name(of []string, i int) string {
	if i < len(of) {
		return of[i]
	}
	return fmt.Sprintf("kind %d", i)
}

// Node is an end of links.
type Node struct {
	Kind NodeKind
	Name string
}

// Link is one direction of a connection between two nodes.
type Link struct {
	From  int
	To    int
	Kind  Kind
	Width int // sub-links that act as one
	// GBps is the saturated bandwidth of all sub-links together, in 10^9 bytes a second.
	GBps float64
	// Half is the copy size, in bytes, that reaches half of GBps.
	Half int64
	// Latency is the time of a very small copy over this link, from the call
	// that posts it until the host sees it complete.
	Latency time.Duration
	// Pool is 0, or 1 + the index of the pool whose bandwidth the link shares.
	Pool int
}

// Pool is bandwidth that several links share, for instance both directions of
// a PCIe connection.
type Pool struct {
	Name string
	GBps float64
}

// Mesh is a machine's nodes and links. The GPUs are nodes 0 to GPUs()-1. A mesh
// does not change after New and may be used by several goroutines at once.
type Mesh struct {
	Name  string
	Nodes []Node
	Links []Link
	Pools []Pool
	// Engines is how many copies a GPU can send at a time; 0 means no limit.
	Engines int

	gpus   int
	hops   []Hop    // all, by ID
	direct [][]*Hop // by from*gpus + to, fastest first
	joined bool     // fabric hops connect all GPUs
	routes routeCache

	multihop bool // routes of several hops are of use
}

// New checks a description and returns its mesh.
func New(name string, nodes []Node, links []Link, pools []Pool, engines int) (*Mesh, error) {
	m := &Mesh{Name: name, Nodes: nodes, Links: links, Pools: pools, Engines: engines}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	m.findHops()
	m.joined = m.fabricJoins()
	m.multihop = m.detoursHelp()
	return m, nil
}

// GPUs returns the number of GPUs.
func (m *Mesh) GPUs() int { return m.gpus }

func positive(gbps float64) bool { return gbps > 0 && gbps <= 1e6 && !math.IsNaN(gbps) }

func (m *Mesh) check() error {
	if len(m.Nodes) > MostNodes || len(m.Links) > MostLinks || len(m.Pools) > MostLinks {
		return fmt.Errorf("more than %d nodes or %d links", MostNodes, MostLinks)
	}
	for i, n := range m.Nodes {
		if !n.Kind.valid() {
			return fmt.Errorf("node %d has no known kind", i)
		}
		if n.Kind != GPU {
			continue
		}
		if i != m.gpus {
			return fmt.Errorf("node %d is a GPU that comes after other nodes", i)
		}
		m.gpus++
	}
	if m.gpus == 0 || m.gpus > MostGPUs {
		return fmt.Errorf("%d GPUs where 1 to %d are allowed", m.gpus, MostGPUs)
	}
	if m.Engines < 0 || m.Engines > 64 {
		return fmt.Errorf("%d copy engines", m.Engines)
	}
	for i, p := range m.Pools {
		if !positive(p.GBps) {
			return fmt.Errorf("pool %d has a bandwidth of %v GB/s", i, p.GBps)
		}
	}
	type edge struct {
		from, to int
		kind     Kind
	}
	seen := map[edge]bool{}
	for i, l := range m.Links {
		switch {
		case l.From < 0 || l.From >= len(m.Nodes) || l.To < 0 || l.To >= len(m.Nodes) || l.From == l.To:
			return fmt.Errorf("link %d connects node %d with node %d", i, l.From, l.To)
		case !l.Kind.valid():
			return fmt.Errorf("link %d has no known kind", i)
		case l.Width < 1 || l.Width > 256:
			return fmt.Errorf("link %d has %d sub-links", i, l.Width)
		case !positive(l.GBps):
			return fmt.Errorf("link %d has a bandwidth of %v GB/s", i, l.GBps)
		case l.Half < 0 || l.Half > 1<<32:
			return fmt.Errorf("link %d has half its bandwidth at %d bytes", i, l.Half)
		case l.Latency < 0 || l.Latency > time.Second:
			return fmt.Errorf("link %d has a latency of %v", i, l.Latency)
		case l.Pool < 0 || l.Pool > len(m.Pools):
			return fmt.Errorf("link %d is in pool %d of %d", i, l.Pool, len(m.Pools))
		}
		e := edge{l.From, l.To, l.Kind}
		if seen[e] {
			return fmt.Errorf("link %d repeats an earlier one: give it sub-links", i)
		}
		seen[e] = true
	}
	return nil
}

// Restrict returns the mesh of some GPUs alone, numbered as they are listed.
// Links of the other GPUs disappear: a GPU that takes no part forwards nothing.
func (m *Mesh) Restrict(gpus []int) (*Mesh, error) {
	number := make([]int, len(m.Nodes))
	for i := range number {
		number[i] = -1
	}
	var nodes []Node
	for _, g := range gpus {
		if g < 0 || g >= m.gpus || number[g] >= 0 {
			return nil, fmt.Errorf("%w: no set of its GPUs: %v", ErrInvalid, gpus)
		}
		number[g] = len(nodes)
		nodes = append(nodes, m.Nodes[g])
	}
	for i := m.gpus; i < len(m.Nodes); i++ {
		number[i] = len(nodes)
		nodes = append(nodes, m.Nodes[i])
	}
	var links []Link
	for _, l := range m.Links {
		if number[l.From] >= 0 && number[l.To] >= 0 {
			l.From, l.To = number[l.From], number[l.To]
			links = append(links, l)
		}
	}
	return New(m.Name, nodes, links, m.Pools, m.Engines)
}

// Staged returns the mesh whose copies between GPUs all pass through the memory of a host: without
// the links from GPU to GPU, and those to switches that connect GPUs only. It is an error if two GPUs then
// have no way to each other.
func (m *Mesh) Staged() (*Mesh, error) {
	links := slices.DeleteFunc(slices.Clone(m.Links), func(l Link) bool {
		from, to := m.Nodes[l.From].Kind, m.Nodes[l.To].Kind
		return from == GPU && to == GPU || l.Kind == NVSwitch
	})
	s, err := New(m.Name, m.Nodes, links, m.Pools, m.Engines)
	if err != nil {
		return nil, err
	}
	for from := range s.gpus {
		for to := range s.gpus {
			if from != to && len(s.Direct(from, to)) == 0 {
				return nil, fmt.Errorf("%w: no way from GPU %d to %d through the memory of a host", ErrInvalid, from, to)
			}
		}
	}
	return s, nil
}
