package transferjoin

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"gpujoin/joincore/cuda/links"
)

// Report has the results of a measurement.
type Report struct {
	Device   string         `json:"device"`
	Driver   string         `json:"driver"` // the CUDA version that it supports
	Repeats  int            `json:"repeats"`
	Platform links.Platform `json:"platform"`
	Workload
	Rows []Row `json:"rows"`
}

// Row is a method: a measurement, or only a note with the reason why there is none. The JSON names are
// part of the command's interface.
type Row struct {
	Method    links.Method `json:"method"`
	Algorithm string       `json:"algorithm,omitempty"`    // that has joined
	MS        float64      `json:"ms,omitempty"`           // median
	GRows     float64      `json:"grows_s,omitempty"`      // 10^9 rows of both inputs a second
	GBs       float64      `json:"gb_s,omitempty"`         // 10^9 bytes of both inputs a second
	Relative  float64      `json:"of_zero_copy,omitempty"` // its rate, of that of zero-copy
	Note      string       `json:"note,omitempty"`
	Paper
}

// Paper is what the paper's text says of a method with workload A (section 7.2.1), whose figures have
// no numbers that could be copied; "": nothing.
type Paper struct {
	PCIe   string `json:"paper_pcie3,omitempty"`
	NVLink string `json:"paper_nvlink2,omitempty"`
}

// papers are the statements of the paper's text.
var papers = map[links.Method]Paper{
	links.Pageable:  {"significantly slower than zero-copy", "slower than coherence"},
	links.Staged:    {"within 5 % of zero-copy", "slower than coherence"},
	links.Dynamic:   {"significantly slower than zero-copy", "slower than coherence"},
	links.Pinned:    {"", "11 % slower than zero-copy"},
	links.ZeroCopy:  {"", "as fast as coherence"},
	links.Coherence: {"unsupported", "within 14 % of the maximum"},
	links.Prefetch:  {"30 % slower than zero-copy", "slower than with PCIe"},
	links.Migration: {"68 % slower than zero-copy", "slower than with PCIe"},
}

// measured returns the row of a method by the times of its joins, in milliseconds.
func (w Workload) measured(m links.Method, ms []float64) Row {
	ms = slices.Sorted(slices.Values(ms))
	r := Row{Method: m, MS: ms[len(ms)/2], Paper: papers[m]}
	r.GRows = float64(w.Build+w.Probe) / 1e6 / r.MS
	r.GBs = float64(w.Bytes()) / 1e6 / r.MS
	return r
}

// missing returns the row of a method without a measurement.
func missing(m links.Method, why string) Row { return Row{Method: m, Note: why, Paper: papers[m]} }

// compare sets the rates of all rows relative to that of zero-copy, if it was measured.
func compare(rows []Row) {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Method == links.ZeroCopy })
	if i < 0 || rows[i].MS == 0 {
		return
	}
	base := rows[i].GRows
	for i := range rows {
		rows[i].Relative = rows[i].GRows / base
	}
}

// Print writes the report as text.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, CUDA %s; %d build rows, %d probe rows of two columns of 8 bytes; medians of %d, every result checked\n",
		r.Device, r.Driver, r.Build, r.Probe, r.Repeats)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "method\tjoin\tms\tG rows/s\tGB/s\tof zero-copy\tpaper, PCIe 3\tpaper, NVLink 2\tnote")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Method, text(row.Algorithm), number("%.1f", row.MS), number("%.2f", row.GRows),
			number("%.1f", row.GBs), number("%.2f", row.Relative), text(row.PCIe), text(row.NVLink), row.Note)
	}
	return t.Flush()
}

// number formats a figure that was measured.
func number(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func text(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
