// Package measure is shared by the benchmark programs: medians, tables, the machine, and
// the document that every benchmark writes. Bars are the values that results must reach.
package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Median returns the middle value, or the mean of the middle two; 0 for no values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// GeometricMean is that of ratios of times that both exist.
type GeometricMean struct {
	logarithms float64
	n          int
}

// Add adds the ratio of two times; one of 0 does not exist.
func (g *GeometricMean) Add(of, by float64) {
	if of > 0 && by > 0 {
		g.logarithms += math.Log(of / by)
		g.n++
	}
}

// Value returns the mean, 0 of nothing.
func (g GeometricMean) Value() float64 {
	if g.n == 0 {
		return 0
	}
	return math.Exp(g.logarithms / float64(g.n))
}

// Count returns the number of ratios.
func (g GeometricMean) Count() int { return g.n }

func (g GeometricMean) String() string {
	if g.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", g.Value())
}

// OneLine replaces what a text of one line cannot have.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// Ms converts to milliseconds, rounded to 1/100.
func Ms(d time.Duration) float64 { return Round(float64(d.Microseconds())/1000, 2) }

// Round rounds v to the given number of decimal places.
func Round(v float64, digits int) float64 {
	var r float64
	// strconv rounds decimals exactly; multiplication does not.
	if _, err := fmt.Sscanf(fmt.Sprintf("%.*f", digits, v), "%g", &r); err != nil {
		return v
	}
	return r
}

// TableText returns the text that Table prints.
func TableText(rows ...string) (string, error) {
	var text strings.Builder
	err := Table(&text, rows...)
	return text.String(), err
}

// Table prints rows of tab-separated cells, right-aligned.
func Table(w io.Writer, rows ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, row+"\t"); err != nil {
			return err
		}
	}
	return t.Flush()
}

// WriteJSON writes v, indented, atomically.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
