package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gpujoin/joincore/mesh"
)

// Config says how a Node works. All nodes of an exchange have the same.
type Config struct {
	Packet int64 // most bytes of a packet, and those of a slot; 0: see Sized
	Batch  int   // most packets of a batch
	Slots  int   // slots of a receive buffer, at most MostSlots
	Mid    int   // most GPUs between source and destination; 0 where detours are of no use
	// Window is how many batches of its own a source may have on all hops whose
	// route is chosen and whose copy has not been posted.
	Window int
	// Posted is how many copies of full length are posted on a hop at a time, or as
	// many packets in shorter ones: with 2, the next one starts while the host learns
	// of the end of the first.
	Posted int
	Policy Policy
	// Least is how many bytes the copies of a batch have at least, as far as they are
	// left and a copy may have them: the host cannot post shorter ones as fast as the
	// links carry them. 0: only the links count.
	Least int64
	// SharedRing gives each neighbour one receive buffer and each hop one queue,
	// first in, first out, as in the paper. It can deadlock: simulator only.
	SharedRing bool
	// Central leaves all routes to a Conductor.
	Central bool
}

// Default returns the paper's configuration: packets of 2 MiB, batches of 8, at
// most three GPUs between.
func Default() Config {
	return Config{Packet: 2 << 20, Batch: 8, Slots: 16, Mid: 3, Window: 8, Posted: 2, Policy: Adaptive{}}
}

// ErrConfig is wrapped by errors about a Config.
var ErrConfig = errors.New("invalid exchange configuration")

// Check returns an error that wraps ErrConfig if no exchange can work this way.
func (c Config) Check() error {
	switch {
	case c.Packet < 1 || c.Batch < 1 || c.Window < 1 || c.Posted < 1 || c.Mid < 0 || c.Least < 0:
		return fmt.Errorf("%w: %+v", ErrConfig, c)
	case c.Slots < 1 || c.Slots > MostSlots:
		return fmt.Errorf("%w: %d slots", ErrConfig, c.Slots)
	case c.Policy == nil:
		return fmt.Errorf("%w: no policy", ErrConfig)
	}
	return nil
}

// classes is how many receive buffers each neighbour gets: one for each number
// of hops that a packet can have behind it on a GPU that forwards it.
func (c Config) classes() int {
	if c.SharedRing {
		return min(c.Mid, 1)
	}
	return c.Mid
}

// on returns the configuration for a mesh: without detours, and so without
// receive buffers, where they are of no use.
func (c Config) on(m *mesh.Mesh) Config {
	if !m.Multihop() {
		c.Mid = 0
	}
	return c
}

// chunk returns the most packets of a copy, where a copy of at least some reaches nine
// tenths of the bandwidth.
func (c Config) chunk(m *mesh.Mesh, least int) int {
	if !m.Multihop() {
		return c.Batch
	}
	// Shorter copies: what is forwarded starts earlier, and slots are free again earlier.
	return min(max(c.Slots/4, least), c.Batch)
}

// BufferBytes returns the memory that a GPU of the mesh needs for its receive buffers.
func (c Config) BufferBytes(m *mesh.Mesh, gpu int) int64 {
	c = c.on(m)
	var neighbours int64
	for from := range m.GPUs() {
		if Forwards(m, from, gpu) {
			neighbours++
		}
	}
	return neighbours * int64(c.classes()*c.Slots) * c.Packet
}

// Forwards reports whether packets that one GPU sends to another may wait there.
func Forwards(m *mesh.Mesh, from, to int) bool {
	return slices.ContainsFunc(m.Direct(from, to), func(h *mesh.Hop) bool { return h.Fabric })
}

// Fabric carries out what a Node decides.
type Fabric interface {
	// Send copies a batch over its hop, b.Route.Hops[b.Hop], from b.At to a place on the next
	// GPU. Copies over one hop are carried out in order. When the copy is complete the fabric
	// calls Sent on the sender and Arrived, with the same place, on the receiver.
	Send(b *Batch, into Place)
	// Tell brings a note to another GPU's Heard. Notes between two GPUs keep their order.
	Tell(from, to int, n Note)
	// Announce brings a Work note to Heard, or to Learn, of all GPUs but the one
	// that it comes from.
	Announce(from int, n Note)
}

// NoteKind says what a Note is about.
type NoteKind uint8

const (
	// Work tells how many bytes wait for a hop, with its Half for each copy.
	Work NoteKind = iota
	// Ask asks which slots of a class have become free.
	Ask
	// Freed names them.
	Freed
)

// Note is a control message between two nodes.
type Note struct {
	Kind  NoteKind
	Hop   int   // Work: the hop's ID
	Work  int64 // Work
	Class int   // Ask, Freed
	Slots Slots // Freed
}

// Bounds of what Sized chooses, in bytes. Slots are not larger than the paper's packets,
// so that receive buffers do not need more memory; copies end at least every few hundred
// microseconds, so that a failing exchange ends soon.
const (
	leastPacket = 16 << 10
	mostSlot    = 2 << 20
	mostCopy    = 64 << 20
)

// overhead is how many times its link's Half a copy is long where nothing is gained by
// short ones: it reaches 98 % of the bandwidth.
const overhead = 64

// posting is the time that the host needs for a copy, in nanoseconds: a hop is not
// forwarded faster, however short the copies are.
const posting = 8000

// Sized returns the configuration with packets that suit the traffic and the measured
// links of a mesh.
//
// Where packets are not forwarded, a pair's bytes travel in as few equal copies as
// allowed. Where they are, n bytes over two hops in copies of s bytes take
// (n/s + 1) * (s + Half) / GBps, which is least for s = sqrt(n * Half).
func (c Config) Sized(m *mesh.Mesh, traffic [][]int64) Config {
	var largest int64
	for _, row := range traffic {
		for _, bytes := range row {
			largest = max(largest, bytes)
		}
	}
	largest = max(largest, 1)
	var half int64
	gbps := 0.0
	for _, h := range m.Hops() {
		if h.Fabric || !m.Joined() {
			half, gbps = max(half, h.Half), max(gbps, h.GBps)
		}
	}
	if !m.Multihop() {
		most := min(max(overhead*half, int64(c.Batch)*mostSlot), mostCopy)
		copies := (largest + most - 1) / most
		c.Packet = packet((largest+copies-1)/copies, c.Batch, mostCopy)
		return c
	}
	half = max(half, int64(gbps*posting))
	s := int64(math.Sqrt(float64(largest) * float64(half)))
	c.Packet = packet(s, c.chunk(m, 1), mostSlot)
	return c
}

// packet divides a copy into packets, in units of 256 bytes.
func packet(bytes int64, packets int, most int64) int64 {
	const unit = 256
	n := (bytes + int64(packets) - 1) / int64(packets)
	return min(max((n+unit-1)/unit*unit, leastPacket), most)
}

// CopyBytes returns the most bytes of a copy over a mesh.
func (c Config) CopyBytes(m *mesh.Mesh) int64 { return int64(c.on(m).chunk(m, 1)) * c.Packet }
