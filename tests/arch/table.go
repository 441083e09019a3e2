// Package arch enforces the layer table of ARCHITECTURE.md: what each room may
// import and what it must not.
package arch

import (
	"fmt"
	"strings"
)

// Room is a row of the layer table.
type Room struct {
	Name    string
	May     []string // rooms that it may import
	MustNot []string // cgo, unsafe, net
}

// Rooms reads the table with the header "room | for | may import | must not"
// from ARCHITECTURE.md's text.
func Rooms(text string) ([]Room, error) {
	var rooms []Room
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
		case len(cells) == 4 && cells[0] == "room" && cells[2] == "may import" && cells[3] == "must not":
			inside = true
		case !inside || strings.HasPrefix(cells[0], "--"):
		case len(cells) != 4:
			return nil, fmt.Errorf("row with %d cells: %s", len(cells), line)
		default:
			name, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "`"), "`")
			rooms = append(rooms, Room{Name: name, May: list(cells[2]), MustNot: list(cells[3])})
		}
	}
	if len(rooms) == 0 {
		return nil, fmt.Errorf("no layer table")
	}
	return rooms, nil
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
