package mesh

import "fmt"

// NodeKind is what a node is.
type NodeKind uint8

const (
	// GPU is a device that stores, computes and forwards.
	GPU NodeKind = iota
	// Host is a processor socket with its memory: a copy that crosses it is
	// staged there.
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
