package sim

import (
	"math/rand/v2"
	"time"

	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
)

// Random returns options of a seed for tests: any mesh that a ring of NVLinks
// connects, any traffic and any configuration, with a single slot a class.
func Random(seed uint64) (Options, error) {
	r := rand.New(rand.NewPCG(seed, 7))
	m, err := randomMesh(r)
	if err != nil {
		return Options{}, err
	}
	traffic := Uniform(m.GPUs(), 0)
	for from := range traffic {
		for to := range traffic[from] {
			if from != to && r.IntN(4) > 0 {
				traffic[from][to] = r.Int64N(64 << r.IntN(12))
			}
		}
	}
	c := exchange.Config{Packet: 64 + r.Int64N(4096), Batch: 1 + r.IntN(8), Slots: 1, Mid: 3, Window: 1 + r.IntN(8),
		Posted: 1 + r.IntN(3), Policy: Policies[r.IntN(len(Policies))], Central: r.IntN(8) == 0}
	return Options{Mesh: m, Config: c, Traffic: traffic, Pass: float64(r.IntN(3)), Note: time.Duration(r.IntN(5000)),
		Sync: time.Duration(r.IntN(5000)), Seed: seed, Jitter: time.Duration(r.IntN(30_000))}, nil
}

func randomMesh(r *rand.Rand) (*mesh.Mesh, error) {
	gpus := 2 + r.IntN(7)
	var nodes []mesh.Node
	var links []mesh.Link
	for range gpus {
		nodes = append(nodes, mesh.Node{Kind: mesh.GPU})
	}
	nodes = append(nodes, mesh.Node{Kind: mesh.Host})
	both := func(x, y int, kind mesh.Kind, gbps float64, pool int) {
		half, latency := r.Int64N(1<<20), time.Duration(r.Int64N(20_000))
		for _, e := range [][2]int{{x, y}, {y, x}} {
			links = append(links, mesh.Link{From: e[0], To: e[1], Kind: kind, Width: 1, GBps: gbps, Half: half, Latency: latency, Pool: pool})
		}
	}
	for x := range gpus {
		for y := x + 1; y < gpus; y++ {
			if y == x+1 || x == 0 && y == gpus-1 || r.IntN(3) == 0 {
				both(x, y, mesh.NVLink, float64(1+r.IntN(100)), 0)
			}
		}
	}
	for g := range gpus {
		if r.IntN(2) == 0 {
			both(g, gpus, mesh.PCIe, 10, r.IntN(2))
		}
	}
	return mesh.New("random", nodes, links, []mesh.Pool{{GBps: 15}}, r.IntN(4))
}
