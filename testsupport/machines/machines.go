// Package machines has the meshes of known machines, by published figures, for tests, the
// simulator and emulation. Real machines are measured (joincore/cuda/links).
package machines

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gpujoin/joincore/mesh"
)

// The first link of a hop carries the latency of posting a copy and of seeing it
// complete; each further link adds its own crossing. A staged copy between the
// sockets of a DGX-1 thus takes less than two copies over NVLink, as the MG-Join
// paper observed: there, routing by latency prefers PCIe.
const (
	posted   = 9 * time.Microsecond
	crossing = 2 * time.Microsecond
)

// halfVolta is the Half of NVLink 2 and PCIe 3: figure 4 of the MG-Join paper
// shows a twentieth of the bandwidth at 2 KB and no gain from 12 MB on.
const halfVolta = 38 << 10

// halfHopper was measured with copies on one stream of an H200.
const halfHopper = 1100 << 10

var machines = map[string]func() (*mesh.Mesh, error){
	"dgx1":        dgx1,
	"dgx-station": dgxStation,
	"dgx-a100":    dgxA100,
	"hgx-h100":    func() (*mesh.Mesh, error) { return hgx("hgx-h100", 370) },
	"hgx-h200":    func() (*mesh.Mesh, error) { return hgx("hgx-h200", 397) },
	"ac922":       ac922,
	"gh200":       gh200,
}

// Names returns the names of all machines, sorted.
func Names() []string { return slices.Sorted(maps.Keys(machines)) }

// Mesh returns the mesh of a machine.
func Mesh(name string) (*mesh.Mesh, error) {
	build, ok := machines[name]
	if !ok {
		return nil, fmt.Errorf("unknown machine %q: there are %v", name, Names())
	}
	return build()
}

// builder collects nodes and links in both directions.
type builder struct {
	nodes []mesh.Node
	links []mesh.Link
	pools []mesh.Pool
}

func (b *builder) node(kind mesh.NodeKind, name string) int {
	b.nodes = append(b.nodes, mesh.Node{Kind: kind, Name: name})
	return len(b.nodes) - 1
}

func (b *builder) gpus(n int) {
	for i := range n {
		b.node(mesh.GPU, fmt.Sprint("gpu", i))
	}
}

// both adds a link each way.
func (b *builder) both(x, y int, kind mesh.Kind, width int, gbps float64, half int64) {
	for _, l := range [][2]int{{x, y}, {y, x}} {
		latency := crossing
		if b.nodes[l[0]].Kind == mesh.GPU {
			latency = posted
		}
		b.links = append(b.links, mesh.Link{From: l[0], To: l[1], Kind: kind, Width: width, GBps: gbps, Half: half, Latency: latency})
	}
}

// shared puts both directions of the latest connection in a pool.
func (b *builder) shared(name string, gbps float64) {
	b.pools = append(b.pools, mesh.Pool{Name: name, GBps: gbps})
	for i := len(b.links) - 2; i < len(b.links); i++ {
		b.links[i].Pool = len(b.pools)
	}
}

func (b *builder) mesh(name string) (*mesh.Mesh, error) {
	return mesh.New(name, b.nodes, b.links, b.pools, 0)
}

// volta adds NVLink 2 connections: 23 GB/s for each sub-link.
func (b *builder) volta(widths map[[2]int]int) {
	for x := range len(b.nodes) {
		for y := x + 1; y < len(b.nodes); y++ {
			if w := widths[[2]int{x, y}]; w > 0 {
				b.both(x, y, mesh.NVLink, w, 23*float64(w), halfVolta)
			}
		}
	}
}

// pairs puts each two GPUs from first on behind a PCIe switch of the socket.
func (b *builder) pairs(host, first, last int, gbps, uplink float64, half int64) {
	for g := first; g < last; g += 2 {
		plx := b.node(mesh.Switch, fmt.Sprint("pcie", g/2))
		b.both(g, plx, mesh.PCIe, 16, gbps, half)
		b.both(g+1, plx, mesh.PCIe, 16, gbps, half)
		b.both(plx, host, mesh.PCIe, 16, uplink, half)
	}
}

// dgx1 is NVIDIA's DGX-1 with V100: two quads of NVLink 2, connected by six
// sub-links; copies that are staged reach 11 GB/s, and 20 between the sockets.
func dgx1() (*mesh.Mesh, error) {
	var b builder
	b.gpus(8)
	widths := map[[2]int]int{{0, 4}: 2, {1, 5}: 2, {2, 6}: 1, {3, 7}: 1}
	for _, q := range []int{0, 4} {
		for pair, w := range map[[2]int]int{{0, 1}: 1, {0, 2}: 1, {0, 3}: 2, {1, 2}: 2, {1, 3}: 1, {2, 3}: 2} {
			widths[[2]int{q + pair[0], q + pair[1]}] = w
		}
	}
	b.volta(widths)
	left, right := b.node(mesh.Host, "socket0"), b.node(mesh.Host, "socket1")
	b.both(left, right, mesh.Socket, 2, 20, halfVolta)
	b.pairs(left, 0, 4, 11, 11, halfVolta)
	b.pairs(right, 4, 8, 11, 11, halfVolta)
	return b.mesh("dgx1")
}

// dgxStation is NVIDIA's DGX Station with four V100 and four sub-links each.
func dgxStation() (*mesh.Mesh, error) {
	var b builder
	b.gpus(4)
	b.volta(map[[2]int]int{{0, 1}: 1, {0, 2}: 1, {0, 3}: 2, {1, 2}: 2, {1, 3}: 1, {2, 3}: 1})
	host := b.node(mesh.Host, "socket0")
	b.pairs(host, 0, 4, 11, 11, halfVolta)
	return b.mesh("dgx-station")
}

// switched adds an NVSwitch that connects all GPUs.
func (b *builder) switched(gpus, width int, gbps float64, half int64) {
	s := b.node(mesh.Switch, "nvswitch")
	for g := range gpus {
		b.both(g, s, mesh.NVSwitch, width, gbps, half)
	}
}

// dgxA100 is NVIDIA's DGX A100: NVSwitch at its nominal 300 GB/s, two GPUs on
// each PCIe 4 switch, two sockets.
func dgxA100() (*mesh.Mesh, error) {
	var b builder
	b.gpus(8)
	b.switched(8, 12, 300, halfHopper)
	left, right := b.node(mesh.Host, "socket0"), b.node(mesh.Host, "socket1")
	b.both(left, right, mesh.Socket, 3, 102, halfVolta)
	b.pairs(left, 0, 4, 25, 25, halfVolta)
	b.pairs(right, 4, 8, 25, 25, halfVolta)
	return b.mesh("dgx-a100")
}

// hgx is an HGX board with eight H100 or H200: PCIe 5 to each mesh.GPU, 55 GB/s one
// way and 99 both ways, and 155 for the four of a socket.
func hgx(name string, gbps float64) (*mesh.Mesh, error) {
	var b builder
	b.gpus(8)
	b.switched(8, 18, gbps, halfHopper)
	left, right := b.node(mesh.Host, "socket0"), b.node(mesh.Host, "socket1")
	b.both(left, right, mesh.Socket, 4, 120, halfVolta)
	for i, host := range []int{left, right} {
		root := b.node(mesh.Switch, fmt.Sprint("root", i))
		b.both(root, host, mesh.PCIe, 64, 155, halfVolta)
		for g := 4 * i; g < 4*i+4; g++ {
			b.both(g, root, mesh.PCIe, 16, 55, halfVolta)
			b.shared(fmt.Sprint("gpu", g), 99)
		}
	}
	return b.mesh(name)
}

// ac922 is IBM's AC922 with four V100: NVLink 2 also to the sockets, 75 GB/s
// each (three sub-links of 25), and 64 between the sockets.
func ac922() (*mesh.Mesh, error) {
	var b builder
	b.gpus(4)
	b.both(0, 1, mesh.NVLink, 3, 75, halfVolta)
	b.both(2, 3, mesh.NVLink, 3, 75, halfVolta)
	left, right := b.node(mesh.Host, "socket0"), b.node(mesh.Host, "socket1")
	b.both(left, right, mesh.Socket, 1, 64, halfVolta)
	for g := range 4 {
		b.both(g, []int{left, right}[g/2], mesh.NVLink, 3, 75, halfVolta)
	}
	return b.mesh("ac922")
}

// gh200 is a node of four GH200: six NVLink 4 sub-links between each two GPUs,
// NVLink-C2C to the own processor, processors connected with each other. Rates
// are nominal.
func gh200() (*mesh.Mesh, error) {
	var b builder
	b.gpus(4)
	for x := range 4 {
		for y := x + 1; y < 4; y++ {
			b.both(x, y, mesh.NVLink, 6, 150, halfHopper)
		}
	}
	for g := range 4 {
		host := b.node(mesh.Host, fmt.Sprint("socket", g))
		b.both(g, host, mesh.C2C, 1, 450, halfHopper)
	}
	for x := range 4 {
		for y := x + 1; y < 4; y++ {
			b.both(4+x, 4+y, mesh.Socket, 1, 100, halfHopper)
		}
	}
	return b.mesh("gh200")
}
