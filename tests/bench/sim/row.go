package sim

import (
	"fmt"
	"os"
	"text/tabwriter"
)

// row is a figure's value for one configuration, and the bar that it has to
// reach.
type row struct {
	Figure        string  `json:"figure"`
	Configuration string  `json:"configuration"`
	Value         float64 `json:"value"`
	Unit          string  `json:"unit"`
	Paper         string  `json:"paper"`
	Bar           string  `json:"bar"`
	Pass          bool    `json:"pass"`
	Error         string  `json:"error,omitempty"`
}

// at makes a row whose value must be from low to high.
func at(figure, configuration string, value float64, unit, paper string, low, high float64) row {
	r := row{Figure: figure, Configuration: configuration, Value: value, Unit: unit, Paper: paper, Pass: value >= low && value <= high}
	switch {
	case low == high:
		r.Bar = fmt.Sprintf("= %g", low)
	case high >= endless:
		r.Bar = fmt.Sprintf(">= %g", low)
	case low <= -endless:
		r.Bar = fmt.Sprintf("<= %g", high)
	default:
		r.Bar = fmt.Sprintf("%g to %g", low, high)
	}
	return r
}

const endless = 1e30

func failed(figure, configuration string, err error) row {
	return row{Figure: figure, Configuration: configuration, Error: err.Error()}
}

func show(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tconfiguration\tvalue\tunit\tpaper\tbar\t")
	for _, r := range rows {
		verdict := ""
		if !r.Pass {
			verdict = "MISSED " + r.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g\t%s\t%s\t%s\t%s\n", r.Figure, r.Configuration, r.Value, r.Unit, r.Paper, r.Bar, verdict)
	}
	_ = w.Flush() // standard output; the results are in the file
}
