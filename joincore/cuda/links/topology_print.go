package links

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
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
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%s\t%v", p.From, p.To, yes(p.Peer), p.NVLinks, p.Path, p.Latency.Round(100*time.Nanosecond))
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

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func bytesText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", n>>10)
}
