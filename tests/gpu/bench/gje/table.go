package gje

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Ours is a time of bench-gpu's. Chosen: the selector chose the algorithm.
type Ours struct {
	Case, Algorithm string
	MS              float64
	Chosen          bool
}

// Footer says how far the times are comparable.
const Footer = `Theirs: keys are dense and payloads equal the key; PHJ-UM is compiled for an A100's 108 multiprocessors; one run each, without one to
warm up; the sum of their three phases, without the row numbers, copies of inputs and cleared buffers that they make before or between
them. With 1 in M matches they keep 1 in M build keys, ours all. With one payload column a side their SMJ-UM is their SMJ-OM.`

// Peer returns their time for the same algorithm, or their best one for a chosen
// algorithm; 0: none.
func Peer(ours Ours, times []Time) float64 {
	best := math.Inf(1)
	for _, t := range times {
		if t.Case == ours.Case && t.MS > 0 && (ours.Chosen || t.Algorithm == ours.Algorithm) {
			best = min(best, t.MS)
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}

// Print writes their times next to ours, of the same algorithm and of the
// chosen one. The ratio is their time divided by ours.
func Print(w io.Writer, ours []Ours, times []Time) error {
	text := "\nGPU-Joins-Evaluation\n" + row("case", "", "theirs ms", "ours ms", "ratio", "chosen", "ms", "ratio", "note")
	for _, t := range times {
		same, chosen := find(ours, t, false), find(ours, t, true)
		text += row(t.Case, t.Algorithm, ms(t.MS), ms(same.MS), ratio(t, same), chosen.Algorithm, ms(chosen.MS), ratio(t, chosen), t.Note)
	}
	_, err := fmt.Fprintln(w, text+Footer)
	return err
}

func row(cells ...any) string {
	return strings.TrimRight(fmt.Sprintf("%-11s %-7s %9s %9s %6s  %-18s %9s %6s  %s", cells...), " ") + "\n"
}

// find returns our time of the same algorithm as theirs, or of the chosen one; zero if
// there is none.
func find(ours []Ours, t Time, chosen bool) Ours {
	for _, o := range ours {
		if o.Case == t.Case && o.Chosen == chosen && (chosen || o.Algorithm == t.Algorithm) {
			return o
		}
	}
	return Ours{}
}

func ms(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

func ratio(t Time, o Ours) string {
	if t.MS == 0 || o.MS == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", t.MS/o.MS)
}
