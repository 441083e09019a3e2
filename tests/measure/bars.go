package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"gpujoin/bench"
)

// Bar is what a value of a result must reach. The zero Bar is none.
type Bar struct {
	Suite string   `json:"suite"`
	Name  string   `json:"name"`  // of the result
	Value string   `json:"value"` // the name of the value; ms: the median
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
	SF    float64  `json:"sf,omitempty"` // the scale factor of the data that the bar is for; 0: any
}

// Bars returns all bars. The program contains their file, whose mistakes a test finds.
var Bars = sync.OnceValue(func() []Bar {
	bars, err := parseBars(bench.Bars)
	if err != nil {
		panic(err)
	}
	return bars
})

func parseBars(data []byte) ([]Bar, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var file struct {
		Schema int   `json:"schema"`
		Bars   []Bar `json:"bars"`
	}
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("bars.json: %w", err)
	}
	if file.Schema != Schema {
		return nil, fmt.Errorf("bars.json: schema %d instead of %d", file.Schema, Schema)
	}
	seen := map[[3]string]bool{}
	for _, b := range file.Bars {
		key := [3]string{b.Suite, b.Name, b.Value}
		switch {
		case b.Suite == "" || b.Name == "" || b.Value == "":
			return nil, fmt.Errorf("bars.json: %+v has no suite, name or value", b)
		case (b.Least == nil) == (b.Most == nil):
			return nil, fmt.Errorf("bars.json: %v needs least or most", key)
		case seen[key]:
			return nil, fmt.Errorf("bars.json: %v appears twice", key)
		}
		seen[key] = true
	}
	return file.Bars, nil
}

// BarOf returns the bar of a value, the zero Bar if it has none.
func BarOf(suite, name, value string) Bar {
	for _, b := range Bars() {
		if b.Suite == suite && b.Name == name && b.Value == value {
			return b
		}
	}
	return Bar{}
}

// Exists reports whether there is a bar.
func (b Bar) Exists() bool { return b.Least != nil || b.Most != nil }

// Met reports whether a value reaches the bar.
func (b Bar) Met(v float64) bool {
	return (b.Least == nil || v >= *b.Least) && (b.Most == nil || v <= *b.Most)
}

// Limit returns the value of the bar, 0 for none.
func (b Bar) Limit() float64 {
	switch {
	case b.Least != nil:
		return *b.Least
	case b.Most != nil:
		return *b.Most
	}
	return 0
}

// String is what a table shows, such as "≤ 20".
func (b Bar) String() string {
	switch {
	case b.Least != nil:
		return fmt.Sprintf("≥ %v", *b.Least)
	case b.Most != nil:
		return fmt.Sprintf("≤ %v", *b.Most)
	}
	return ""
}

// Verdict is yes or NO, nothing for no bar.
func (b Bar) Verdict(v float64) string {
	switch {
	case !b.Exists():
		return ""
	case b.Met(v):
		return "yes"
	}
	return "NO"
}
