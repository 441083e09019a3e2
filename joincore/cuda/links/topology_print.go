package links

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"gpujoin/joincore/mesh"
)

// Print writes the facts as tables: devices, pairs, and notes.
func (f *Facts) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "driver %s\n\n", f.Driver)
	fmt.Fprintln(t, "device\tPCI\tNUMA\tNVLinks\thost to device\tdevice to host\tboth at once, GB/s\t")
	for i, d := range f.Devices {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t\n", i, d.PCI, numa(d.NUMA), d.NVLinks, rate(d.ToDevice), rate(d.ToHost), rate(d.BothWays))
	}
	fmt.Fprint(t, "\nfrom\tto\tpeer\tNVLinks\tPCIe path\tlatency")
	sizes := f.sizes()
	for _, s := range sizes {
		fmt.Fprintf(t, "\t%s", bytesText(s))
	}
	fmt.Fprintln(t, "\tboth ways, GB/s\t")
	for _, p := range f.Pairs {
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%s\t%v", p.From, p.To, yes[p.Peer], p.NVLinks, p.Path, p.Latency.Round(100*time.Nanosecond))
		for _, s := range sizes {
			fmt.Fprintf(t, "\t%s", rate(p.at(s)))
		}
		fmt.Fprintf(t, "\t%s\t\n", rate(p.BothWays))
	}
	if f.AllGBps > 0 {
		fmt.Fprintf(t, "\nall pairs at once: %.0f GB/s\n", f.AllGBps)
	}
	for _, n := range f.Notes {
		fmt.Fprintf(t, "\n%s\n", n)
	}
	return t.Flush()
}

// sizes returns all measured sizes.
func (f *Facts) sizes() []int64 {
	var list []int64
	for _, p := range f.Pairs {
		if len(p.Sizes) > len(list) {
			list = nil
			for _, s := range p.Sizes {
				list = append(list, s.Bytes)
			}
		}
	}
	return list
}

func (p *Pair) at(bytes int64) float64 {
	for _, s := range p.Sizes {
		if s.Bytes == bytes {
			return s.GBps
		}
	}
	return 0
}

func rate(gbps float64) string {
	switch {
	case gbps == 0:
		return "-"
	case gbps < 10:
		return fmt.Sprintf("%.1f", gbps)
	}
	return fmt.Sprintf("%.0f", gbps)
}

func numa(n int) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

var yes = map[bool]string{true: "yes", false: "no"}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}

// Host is the end of a connection that is no device.
const Host = -1

// Connection is one direction between two devices, or a device and the host, as users see it.
type Connection struct {
	From, To int           // numbers in Facts.Devices, or Host
	Kind     string        // a mesh.Kind, or "staged"
	Direct   bool          // copies do not pass through host memory, except those of the host
	GBps     float64       // 10^9 bytes a second of large copies; 0: not measured
	Latency  time.Duration // of a small copy; 0: not measured
	Note     string        // what is missing; "": nothing
}

const staged = "staged"

// Connections lists those from and to the host by device, then those between devices.
func (f *Facts) Connections() (list []Connection) {
	for i, d := range f.Devices {
		list = append(list,
			Connection{From: Host, To: i, Kind: mesh.PCIe.String(), Direct: true, GBps: d.ToDevice},
			Connection{From: i, To: Host, Kind: mesh.PCIe.String(), Direct: true, GBps: d.ToHost})
	}
	b := meshBuilder{facts: f}
	for _, p := range f.Pairs {
		c := Connection{From: p.From, To: p.To, Direct: p.Peer, Latency: p.Latency}
		c.GBps, _ = fitLine(p.Sizes)
		switch {
		case f.Apart:
			c.Kind, c.Note = staged, "devices do not access each other's memory, as cuda_peer_access demands: rows pass through host memory"
		case !p.Peer:
			c.Kind, c.Note = staged, "the driver refuses access to the other device's memory: copies pass through host memory"
		case p.NVLinks > 0:
			c.Kind = mesh.NVLink.String()
		case b.spare(p.From) > 0 && b.spare(p.To) > 0:
			c.Kind = mesh.NVSwitch.String()
		default:
			c.Kind = mesh.PCIe.String()
		}
		if c.GBps == 0 && c.Note == "" {
			c.Note = "not measured"
		}
		list = append(list, c)
	}
	return list
}
