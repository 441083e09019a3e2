package plan

import "encoding/json"

// The JSON as it stands on the wire. Pointers and raw messages tell a missing
// member from a zero one; build.go turns these into checked types.

type wireJob struct {
	Version int          `json:"version"`
	Static  *wireStatic  `json:"static"`
	Runtime *wireRuntime `json:"runtime"`
}

type wireStatic struct {
	Inputs []wireInput `json:"inputs"`
	Root   *wireNode   `json:"root"`
}

type wireInput struct {
	Database uint32       `json:"database"`
	Relation uint32       `json:"relation"`
	Name     string       `json:"name"`
	Feed     string       `json:"feed"`
	Rows     float64      `json:"rows"`
	RowBytes float64      `json:"row_bytes"`
	Columns  []wireColumn `json:"columns"`
}

type wireColumn struct {
	Attnum    int16  `json:"attnum"`
	Type      uint32 `json:"type"`
	Typmod    int32  `json:"typmod"`
	Collation uint32 `json:"collation"`
	Role      string `json:"role"`
	Encoding  string `json:"encoding"`
	Width     int    `json:"width"`
	Align     int    `json:"align"`
}

type wireNode struct {
	Op        string     `json:"op"`
	Input     *int       `json:"input"`
	Child     *wireNode  `json:"child"`
	Predicate *wireExpr  `json:"predicate"`
	Kind      string     `json:"kind"`
	Rows      *float64   `json:"rows"`
	Left      *wireNode  `json:"left"`
	Right     *wireNode  `json:"right"`
	Keys      []wireKey  `json:"keys"`
	Residual  *wireExpr  `json:"residual"`
	Columns   []*wireRef `json:"columns"`
}

type wireRef struct {
	Input  *int `json:"input"`
	Column *int `json:"column"`
}

type wireKey struct {
	Left  *wireRef `json:"left"`
	Right *wireRef `json:"right"`
	Class string   `json:"class"`
}

type wireExpr struct {
	And     []*wireExpr  `json:"and"`
	Or      []*wireExpr  `json:"or"`
	Not     *wireExpr    `json:"not"`
	Compare string       `json:"compare"`
	Left    *wireOperand `json:"left"`
	Right   *wireOperand `json:"right"`
	IsNull  *wireRef     `json:"is_null"`
}

type wireOperand struct {
	Column    *wireRef `json:"column"`
	Int       *int64   `json:"int"`
	Parameter *int     `json:"parameter"`
}

type wireRuntime struct {
	Generation uint32            `json:"generation"`
	Parameters []json.RawMessage `json:"parameters"`
	Snapshot   string            `json:"snapshot"`
	LSN        string            `json:"lsn"`
	Algorithm  *string           `json:"algorithm"`
}
