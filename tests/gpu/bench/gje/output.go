package gje

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

var (
	// phase is the time of one of the three phases of each algorithm.
	phase = regexp.MustCompile(`(?m)^(?:Partition|Join|Materialize|Sort|Merge): ([0-9.e+-]+) ms$`)
	// cardinality is the number of rows of the result.
	cardinality = regexp.MustCompile(`(?m)^Output Cardinality = (-?[0-9]+)$`)
)

// parse returns the sum of all phases in ms that an executable printed, if its
// result has the expected number of rows.
func parse(output []byte, c *Case) (float64, error) {
	rows := cardinality.FindSubmatch(output)
	if rows == nil {
		return 0, fmt.Errorf("no number of rows is printed: %s", lastLine(output))
	}
	if want := strconv.FormatInt(c.matches(), 10); string(rows[1]) != want {
		return 0, fmt.Errorf("%s rows in place of %s", rows[1], want)
	}
	phases := phase.FindAllSubmatch(output, -1)
	if len(phases) != 3 {
		return 0, fmt.Errorf("%d phases are printed in place of 3", len(phases))
	}
	total := 0.0
	for _, p := range phases {
		ms, err := strconv.ParseFloat(string(p[1]), 64)
		if err != nil {
			return 0, err
		}
		total += ms
	}
	return total, nil
}

// lastLine is the last line that is not empty.
func lastLine(output []byte) string {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	return string(bytes.TrimSpace(lines[len(lines)-1]))
}
