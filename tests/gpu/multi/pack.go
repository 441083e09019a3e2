//go:build cuda

package multi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gpujoin/joincore/cuda/fabric"
	"gpujoin/joincore/cuda/mgj"
	"gpujoin/joincore/exchange"
	"gpujoin/joincore/mesh"
	"gpujoin/tests/columndata"
	"gpujoin/tests/measure"
)

// Names of bars: how much faster compression makes a join, and the bytes of it that are compressed, in GB.
const (
	timesRaw = "times uncompressed"
	packedGB = "gb_compressed"
)

// packLink is a way to bring rows from one device to another.
type packLink struct {
	name string
	// mesh has links of the given rate, if rows are not sent over the devices' own.
	mesh func(devices int, gbps float64) (*mesh.Mesh, error)
	gbps float64
	// emulated: copies take as long as over such links; otherwise they pass through host memory.
	emulated bool
}

// packLinks are the devices' own links, for which compression must not be chosen, and slower ones, for
// which it must.
func packLinks() []packLink {
	return []packLink{
		{name: "pack-links"},
		{name: "pack-staged", mesh: throughHost, gbps: 25},
		{name: "pack-emulated", mesh: pairsOf, gbps: 23, emulated: true},
	}
}

// pairsOf is a mesh with a link of its own between each two devices: 23 GB/s is that of a DGX-1.
func pairsOf(devices int, gbps float64) (*mesh.Mesh, error) {
	var nodes []mesh.Node
	var links []mesh.Link
	for from := range devices {
		nodes = append(nodes, mesh.Node{Kind: mesh.GPU, Name: fmt.Sprint("gpu", from)})
		for to := range devices {
			if from != to {
				links = append(links, mesh.Link{From: from, To: to, Kind: mesh.NVLink, Width: 1, GBps: gbps, Half: 64 << 10})
			}
		}
	}
	return mesh.New("pairs", nodes, links, nil, 0)
}

// throughHost is a mesh whose devices are connected by the host's memory alone.
func throughHost(devices int, gbps float64) (*mesh.Mesh, error) {
	var nodes []mesh.Node
	var links []mesh.Link
	for g := range devices {
		nodes = append(nodes, mesh.Node{Kind: mesh.GPU, Name: fmt.Sprint("gpu", g)})
		for _, ends := range [][2]int{{g, devices}, {devices, g}} {
			links = append(links, mesh.Link{From: ends[0], To: ends[1], Kind: mesh.PCIe, Width: 16, GBps: gbps, Half: 1 << 20})
		}
	}
	return mesh.New("host", append(nodes, mesh.Node{Kind: mesh.Host, Name: "host"}), links, nil, 0)
}

// packCase has keys like those of orders in a large database, 8 bytes of which few are in use, and payload that
// does not shrink.
func packCase() joinCase {
	const build, probe = 1 << 26, 1 << 27
	return joinCase{name: "pack", Case: columndata.Case{
		Build: build, Probe: probe, Key: 8, BuildWidths: columns(1, 4), ProbeWidths: columns(1, 4), Distinct: build, Domain: build, Dense: true,
	}}
}

// measurePack times an exchange without compression, with it, and as the rule decides, over each link.
func (b *bench) measurePack(ctx context.Context) (err error) {
	d, err := b.openDevices(shares)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	rows := []string{"link\tGB/s\trows\tway\tms\ttimes uncompressed\tbar\tGB sent\tGB compressed\tGB saved"}
	own := d.group
	for _, link := range packLinks() {
		f, err := b.openLink(d, link)
		if err != nil {
			return err
		}
		results, err := b.timePack(ctx, d, link)
		if f != nil {
			err = errors.Join(err, d.group.Close(), f.Close())
		}
		d.group = own
		if err != nil {
			return fmt.Errorf("%s: %w", link.name, err)
		}
		for _, r := range results {
			gbps, times, bar := "own", r.Values[timesRaw], ""
			if link.gbps > 0 {
				gbps = fmt.Sprintf("%.0f", link.gbps)
			}
			if r.Engine == byRule {
				bar = b.judgePack(&r)
			}
			rows = append(rows, strings.Join([]string{
				r.Name, gbps, r.Engine, r.Texts["way"], fmt.Sprintf("%.3f", r.Ms[0]), fmt.Sprintf("%.3f", times), bar,
				fmt.Sprintf("%.3f", r.Values["gb_sent"]), fmt.Sprintf("%.3f", r.Values[packedGB]), fmt.Sprintf("%.3f", r.Values["gb_saved"]),
			}, "\t"))
		}
		b.results = append(b.results, results...)
	}
	return measure.Table(os.Stdout, rows...)
}

// byRule names the engine that compresses where that pays.
const byRule = "where it pays"

// judgePack returns the bars of a link, and counts those that the rule misses.
func (b *bench) judgePack(r *measure.Result) string {
	var bars []string
	for _, value := range []string{timesRaw, packedGB} {
		if bar := measure.BarOf(suite, r.Name, value); bar.Exists() {
			b.misses(r.Name, value, r.Values[value])
			bars = append(bars, fmt.Sprintf("%s %v", value, bar))
		}
	}
	return strings.Join(bars, ", ")
}

// openLink has the devices' group send rows over a link. The caller closes the group and the fabric,
// which is nil for the devices' own links.
func (b *bench) openLink(d *devices, link packLink) (*fabric.Fabric, error) {
	if link.mesh == nil {
		return nil, nil
	}
	m, err := link.mesh(len(d.members), link.gbps)
	if err != nil {
		return nil, err
	}
	f, err := fabric.Open(m, fabric.Options{
		Devices: b.devices, Bytes: exchange.Default().BufferBytes(m, 0) + 64<<20, Staged: !link.emulated, Emulate: link.emulated,
	})
	if err != nil {
		return nil, err
	}
	g, err := mgj.OpenStaged(d.members, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.group = g
	return f, nil
}

// timePack times the case over the devices' group, and verifies its results.
func (b *bench) timePack(ctx context.Context, d *devices, link packLink) (results []measure.Result, err error) {
	c := packCase()
	parts, err := d.fill(ctx, c)
	if err != nil {
		return nil, err
	}
	var raw float64
	for _, x := range []struct {
		engine string
		pack   mgj.Pack
		way    mgj.Way // unless rows are staged
	}{{"uncompressed", mgj.PackNever, mgj.WayCopy}, {"compressed", mgj.PackAlways, mgj.WayCopy}, {byRule, mgj.PackPays, mgj.WayFastest}} {
		r, err := b.together(ctx, d, c, parts, mgj.Options{Strategy: mgj.Exchange, Pack: x.pack, Way: x.way})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.engine, err)
		}
		if x.pack == mgj.PackNever {
			raw = r.MS
		}
		results = append(results, measure.Result{
			Name: link.name, Engine: x.engine, Ms: []float64{r.MS}, Texts: map[string]string{"way": r.Way, "algorithm": r.Algorithm},
			Values: map[string]float64{timesRaw: measure.Round(raw/r.MS, 3), "gb_sent": measure.Round(r.GB-r.Saved, 3), packedGB: r.Packed, "gb_saved": r.Saved},
		})
	}
	return results, nil
}
