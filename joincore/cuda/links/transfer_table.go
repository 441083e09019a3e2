package links

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// MethodsReport has the results of a measurement and its platform.
type MethodsReport struct {
	Device   string   `json:"device"`
	Driver   string   `json:"driver"` // the CUDA version that it supports
	Repeats  int      `json:"repeats"`
	Platform Platform `json:"platform"`
	// The methods that the provider uses there, for registered and other memory.
	Registered   Method         `json:"registered"`
	Unregistered Method         `json:"unregistered"`
	Rows         []MethodResult `json:"rows"`
}

// Print writes the report as text.
func (r *MethodsReport) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s, CUDA %s; medians of %d, every transfer checked\n", r.Device, r.Driver, r.Repeats)
	if err == nil {
		err = printRows(w, r.Rows)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "on this platform joins use %s for registered extents and %s for other memory\n", r.Registered, r.Unregistered)
	}
	return err
}

// MethodResult is a row of the table: a method in one direction and size, or an absent
// method, with only a note. The JSON names are part of the command's interface.
type MethodResult struct {
	Method    Method    `json:"method"`
	Direction Direction `json:"direction,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	MS        float64   `json:"ms,omitempty"`    // median
	GBs       float64   `json:"gb_s,omitempty"`  // 10^9 bytes a second
	Share     float64   `json:"share,omitempty"` // fraction of the fastest method's rate
	Best      bool      `json:"best,omitempty"`  // the fastest
	Note      string    `json:"note,omitempty"`  // why it is absent, or its preparation
}

// measured reports whether the row has a measurement.
func (r *MethodResult) measured() bool { return r.MS > 0 }

// medianResult returns the row for the times of repeated transfers, in milliseconds.
func medianResult(m Method, d Direction, bytes int64, ms []float64, note string) MethodResult {
	r := MethodResult{Method: m, Direction: d, Bytes: bytes, MS: median(ms), Note: note}
	r.GBs = float64(bytes) / 1e6 / r.MS
	return r
}

// median sorts a list and returns the value in its middle.
func median[T cmp.Ordered](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// markBest marks the fastest method of each direction and size, and computes the
// others' fractions of its rate.
func markBest(rows []MethodResult) {
	type class struct {
		d     Direction
		bytes int64
	}
	best := map[class]float64{}
	for _, r := range rows {
		c := class{r.Direction, r.Bytes}
		best[c] = max(best[c], r.GBs)
	}
	for i := range rows {
		if r := &rows[i]; r.measured() {
			r.Share = r.GBs / best[class{r.Direction, r.Bytes}]
			r.Best = r.Share == 1
		}
	}
}

// printRows writes a table, then the fastest method of each direction and size.
func printRows(w io.Writer, rows []MethodResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "method\tdirection\tsize\tms\tGB/s\tof best\tnote")
	for _, r := range rows {
		if !r.measured() {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\t%s\n", r.Method, r.Note)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.1f\t%.0f %%\t%s\n", r.Method, r.Direction, sizeText(r.Bytes), r.MS, r.GBs, 100*r.Share, r.Note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range []Direction{In, Out} {
		for _, r := range rows {
			if !r.Best || r.Direction != d {
				continue
			}
			if _, err := fmt.Fprintf(w, "best %s, %s: %s, %.1f GB/s\n", d, sizeText(r.Bytes), r.Method, r.GBs); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizeText formats a number of bytes.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
