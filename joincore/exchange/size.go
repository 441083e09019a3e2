package exchange

import (
	"math"

	"gpujoin/joincore/mesh"
)

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
