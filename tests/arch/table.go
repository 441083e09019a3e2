// Package arch enforces the layer table of ARCHITECTURE.md: what each layer may
// import and what it must not.
package arch

import (
	"fmt"
	"strings"
)

// Layer is a row of the layer table.
type Layer struct {
	Name    string
	May     []string // layers that it may import
	MustNot []string // cgo, unsafe, net
}

// Layers reads the table with the header "package or folder | for | may use | must not"
// from ARCHITECTURE.md's text.
func Layers(text string) ([]Layer, error) {
	var layers []Layer
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) == 4 && cells[0] == "package or folder" && cells[2] == "may use" && cells[3] == "must not":
			inside = true
		case !inside || strings.HasPrefix(cells[0], "--"):
		case len(cells) != 4:
			return nil, fmt.Errorf("row with %d cells: %s", len(cells), line)
		default:
			name, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "`"), "`")
			layers = append(layers, Layer{Name: name, May: list(cells[2]), MustNot: list(cells[3])})
		}
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("no layer table")
	}
	return layers, nil
}

func list(cell string) []string {
	var items []string
	for item := range strings.SplitSeq(cell, ",") {
		item = strings.Trim(strings.TrimSpace(item), "`")
		if item != "" && item != "-" {
			items = append(items, item)
		}
	}
	return items
}
