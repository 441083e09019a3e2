package rowid

import "gpujoin/joincore"

// PayloadKind is what is moved with the key of a row.
type PayloadKind uint8

const (
	PayloadValues   PayloadKind = iota // values of a column
	PayloadValidity                    // a byte a row: whether the column's value is there
	PayloadRowIDs                      // row ids of an input
)

// Movable reports whether kernels can move values of a column with the key. Values
// of other columns are copied by the host, by row id.
func Movable(c joincore.Column) bool {
	return c.Kind == joincore.Fixed && (c.Width <= 8 || c.Width == 16)
}
