package planjson

import "github.com/go-json-experiment/json/jsontext"

// The JSON of a job. Pointers and raw messages tell a missing member from a zero one.

type wireJob struct {
	Version int          `json:"version"`
	Static  *wireStatic  `json:"static"`
	Runtime *wireRuntime `json:"runtime"`
}

type wireStatic struct {
	Inputs  []wireInput  `json:"inputs"`
	Root    *wireNode    `json:"root"`
	Filters []wireFilter `json:"filters"`
}

type wireFilter struct {
	Source *wireRef `json:"source"`
	Target *wireRef `json:"target"`
}

type wireInput struct {
	Database uint32       `json:"database"`
	Relation uint32       `json:"relation"`
	Name     string       `json:"name"`
	Feed     string       `json:"feed"`
	Rows     float64      `json:"rows"`
	RowBytes float64      `json:"row_bytes"`
	Columns  []wireColumn `json:"columns"`
	Kept     *wireKept    `json:"kept"`
	Mirror   *wireMirror  `json:"mirror"`
}

type wireMirror struct {
	Schema  string   `json:"schema"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
	Text    []int    `json:"text"`
}

type wireKept struct {
	Hidden    int       `json:"hidden"`
	Condition *wireExpr `json:"condition"`
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
	Form      *int   `json:"form"`
	Scale     *int   `json:"scale"`
}

type wireNode struct {
	Op        string           `json:"op"`
	Input     *int             `json:"input"`
	Child     *wireNode        `json:"child"`
	Predicate *wireExpr        `json:"predicate"`
	Kind      string           `json:"kind"`
	Rows      *float64         `json:"rows"`
	Left      *wireNode        `json:"left"`
	Right     *wireNode        `json:"right"`
	Keys      []jsontext.Value `json:"keys"` // of a join wireKey, of an aggregate wireValue
	Residual  *wireExpr        `json:"residual"`
	Columns   []*wireRef       `json:"columns"`
	ID        *int             `json:"id"`
	Carry     []*wireRef       `json:"carry"`
	Functions []wireFunction   `json:"functions"`
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

type wireFunction struct {
	Fn       string     `json:"fn"`
	Arg      *wireValue `json:"arg"`
	Distinct bool       `json:"distinct"`
	Filter   *wireExpr  `json:"filter"`
}

type wireExpr struct {
	And      []*wireExpr `json:"and"`
	Or       []*wireExpr `json:"or"`
	Not      *wireExpr   `json:"not"`
	Compare  string      `json:"compare"`
	Left     *wireValue  `json:"left"`
	Right    *wireValue  `json:"right"`
	IsNull   *wireValue  `json:"is_null"`
	In       *wireValue  `json:"in"`
	Ints     []int64     `json:"ints"`
	Texts    []string    `json:"texts"`
	Null     bool        `json:"null"`
	Like     *wireValue  `json:"like"`
	Pattern  *string     `json:"pattern"`
	Encoding *string     `json:"encoding"`
}

type wireValue struct {
	Column    *wireRef     `json:"column"`
	Decimal   *wireRef     `json:"decimal"`
	Int       *int64       `json:"int"`
	Null      *int         `json:"null"`
	Text      *string      `json:"text"`
	Parameter *int         `json:"parameter"`
	IsText    bool         `json:"is_text"`
	Fn        *string      `json:"fn"`
	Width     *int         `json:"width"`
	Args      []*wireValue `json:"args"`
	From      *int32       `json:"from"`
	For       *int32       `json:"for"`
	Encoding  *string      `json:"encoding"`
	Case      []wireWhen   `json:"case"`
	Else      *wireValue   `json:"else"`
	Truth     *wireExpr    `json:"truth"`
}

type wireWhen struct {
	When *wireExpr  `json:"when"`
	Then *wireValue `json:"then"`
}

type wireRuntime struct {
	Generation uint32           `json:"generation"`
	Parameters []jsontext.Value `json:"parameters"`
	Snapshot   string           `json:"snapshot"`
	LSN        string           `json:"lsn"`
	Algorithm  *string          `json:"algorithm"`
	Mirrors    []*string        `json:"mirrors"`
	Sample     *wireSample      `json:"sample"`
}

type wireSample struct {
	Rows int64  `json:"rows"`
	Seed uint64 `json:"seed"`
}
