package phj

import "fmt"

// mode is how a side's payload goes through a join.
type mode uint8

const (
	carry mode = iota // moved with the key by every pass (OM)
	place             // moved by the first pass, then gathered from where that has clustered it
	pack              // the same, packed into lanes: any number of columns of any widths
	rowID             // gathered from the input by row id (UM)
)

// positioned reports whether the passes move positions of payload that the first pass has
// clustered.
func (m mode) positioned() bool { return m == place || m == pack }

// form is how the kernels see it: kernels/layout/payload.cuh.
type form uint8

const (
	columns form = iota
	fields
	beside // fields, of which one of 1 byte shares the key's word with what is left of the hash
	byID
	packed
)

// shape is a side's payload as the passes carry it: words of 4 bytes next to the key's,
// `unit` of them per column.
type shape struct {
	form  form
	words int
	unit  int
}

// String is the shape in the names of kernels.
func (s shape) String() string {
	switch {
	case s.form == byID:
		return "id"
	case s.form == packed:
		return "packed"
	case s.form == fields:
		return fmt.Sprintf("f%d", s.words)
	case s.form == beside:
		return fmt.Sprintf("h%d", 4*s.words+1)
	case s.words == 0:
		return "0"
	}
	return fmt.Sprintf("%dx%d", 4*s.unit, s.words/s.unit)
}

var (
	noPayload = shape{unit: 1}
	idShape   = shape{form: byID, words: 1, unit: 1}
	oneColumn = shape{words: 1, unit: 1}
)

// SendsColumns reports whether devices that join together send the payload of both sides as
// columns, which a first pass stores in the memory of other devices as fast as it reads them. It
// stores fields and packed values more slowly.
func SendsColumns(keyBytes int, widths [2][]int) bool {
	s, _ := shapes(keyBytes/4, widths, [2]mode{carry, carry})
	return s[0].form == columns && s[1].form == columns
}
