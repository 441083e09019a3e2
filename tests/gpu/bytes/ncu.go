package bytes

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The counters that ncu reads.
const (
	readMetric    = "dram__bytes_read.sum"
	writtenMetric = "dram__bytes_write.sum"
)

// kernel is one launch. Sizes are bytes.
type kernel struct {
	Name    string `json:"name"`
	Read    int64  `json:"read"`
	Written int64  `json:"written"`
}

// parse reads ncu's output of --csv --page raw: a line of names, one of units,
// and a line per launch in order. It skips ncu's own lines, which begin with
// ==.
func parse(r io.Reader) ([]kernel, error) {
	var table strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `"`) {
			table.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ncu's table: %w", err)
	}
	if len(rows) < 3 {
		return nil, fmt.Errorf("ncu's table has %d lines", len(rows))
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, name := range []string{"Kernel Name", readMetric, writtenMetric} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("ncu's table has no %s", name)
		}
	}
	units := rows[1]
	var all []kernel
	for _, row := range rows[2:] {
		k := kernel{Name: row[column["Kernel Name"]]}
		for metric, to := range map[string]*int64{readMetric: &k.Read, writtenMetric: &k.Written} {
			at := column[metric]
			if *to, err = bytes(row[at], units[at]); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", metric, k.Name, err)
			}
		}
		all = append(all, k)
	}
	return all, nil
}

// scale has ncu's units in bytes.
var scale = map[string]float64{"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12}

// bytes parses a formatted number, such as 1,234.5, of a unit.
func bytes(number, unit string) (int64, error) {
	factor, ok := scale[unit]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q", unit)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || v < 0 || v*factor > 1e18 || v != v {
		return 0, fmt.Errorf("%q is no number of bytes", number)
	}
	return int64(v*factor + 0.5), nil
}
