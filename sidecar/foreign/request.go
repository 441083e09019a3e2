package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gpujoin/sidecar/mirror/encode"
	"gpujoin/sidecar/source"
)

// request has the members of all requests; decode checks that a request has those of its kind.
type request struct {
	Source *sourceOptions `json:"source"`
	Tables []wanted       `json:"tables"`

	// PIN
	Freshness int64  `json:"freshness_ms"` // negative: latest
	Timeout   int64  `json:"timeout_ms"`
	NotBefore string `json:"not_before"`
	Mix       bool   `json:"mix"`
	Mirror    bool   `json:"mirror"` // tables that are not mirrored yet begin to load
	Show      bool   `json:"show"`
	Token     string `json:"token"` // a pin whose position is wanted again, for other tables; of UNPIN, the one that ends

	Wait    int64    `json:"wait_ms"` // MIRROR; negative: until it is there
	Schema  string   `json:"schema"`  // IMPORT
	Only    []string `json:"only"`    // IMPORT; nil: all
	Except  []string `json:"except"`  // IMPORT
	Server  uint32   `json:"server"`  // CLOSE
	Mapping uint32   `json:"mapping"` // CLOSE; 0: all
	// CLOSE: a database that was dropped, instead of a server.
	Database uint32 `json:"database"`

	Table   *wanted        `json:"table"`   // CHECK
	Columns []wantedColumn `json:"columns"` // CHECK

	notBefore source.LSN
}

// sourceOptions say which session serves a request. Keywords have secrets: they are not logged,
// and no error repeats them.
type sourceOptions struct {
	Encoding    string            `json:"database_encoding"`
	Server      uint32            `json:"server"`
	Mapping     uint32            `json:"mapping"`
	Keywords    map[string]string `json:"keywords"`
	Publication string            `json:"publication"`
	Slot        string            `json:"slot"`
	Retained    int64             `json:"max_retained_wal"`
}

// wanted is a table that a request names.
type wanted struct {
	Schema  string         `json:"schema"`
	Table   string         `json:"table"`
	Mirror  bool           `json:"mirror"`
	Columns []wantedColumn `json:"columns"`
}

func (w *wanted) name() source.Name { return source.Name{Schema: w.Schema, Table: w.Table} }

// wantedColumn is a column that a statement reads.
type wantedColumn struct {
	Name   string `json:"name"`
	Type   uint32 `json:"type"`
	Typmod int32  `json:"typmod"`
	Text   bool   `json:"text"`
}

func (r *request) names() []source.Name {
	names := make([]source.Name, len(r.Tables))
	for i := range r.Tables {
		names[i] = r.Tables[i].name()
	}
	return names
}

// Limits of a request. A statement of PostgreSQL names fewer tables and columns.
const (
	mostTables  = 10_000
	mostColumns = 1664 // of a table
	longestName = 63   // bytes, as NAMEDATALEN says
	mostWait    = 24 * time.Hour
)

// decode decodes and checks a request.
func decode(kind Kind, body []byte) (*request, error) {
	r := &request{Mirror: true}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, malformed("%s", of(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("there is more than one object")
	}
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	var missing string
	switch kind {
	case KindUnpin:
		missing = lacks(r.Token == "", "token")
	case KindMirrors:
	case KindClose:
		missing = lacks(r.Server == 0 && r.Database == 0, "server")
	case KindImport:
		missing = lacks(r.Source == nil, "source") + lacks(r.Schema == "", "schema")
	case KindCheck:
		missing = lacks(r.Source == nil, "source") + lacks(r.Table == nil, "table") + lacks(len(r.Columns) == 0, "columns")
	case KindPin:
		missing = lacks(r.Source == nil, "source")
	case KindMirror, KindUnmirror, KindSize:
		missing = lacks(r.Source == nil, "source") + lacks(len(r.Tables) == 0, "tables")
	default:
		return nil, malformed("kind %d", kind)
	}
	if missing != "" {
		return nil, malformed("a request of kind %d without%s", kind, missing)
	}
	return r, r.checkValues()
}

func lacks(missing bool, member string) string {
	if missing {
		return " " + member
	}
	return ""
}

// checkNames refuses names that no table or column has, and more than a statement has.
func (r *request) checkNames() error {
	tables := r.Tables
	if r.Table != nil {
		tables = append(tables[:len(tables):len(tables)], *r.Table)
	}
	if len(tables) > mostTables || len(r.Only) > mostTables || len(r.Except) > mostTables {
		return malformed("more than %d tables", mostTables)
	}
	for i := range tables {
		t := &tables[i]
		switch {
		case !nameable(t.Schema) || !nameable(t.Table):
			return malformed("a table without a valid name")
		case len(t.Columns) > mostColumns || len(r.Columns) > mostColumns:
			return malformed("more than %d columns of a table", mostColumns)
		}
		for _, c := range append(t.Columns[:len(t.Columns):len(t.Columns)], r.Columns...) {
			if !nameable(c.Name) || c.Type == 0 {
				return malformed("a column without a valid name or type")
			}
		}
	}
	return nil
}

func nameable(name string) bool {
	return name != "" && len(name) <= 4*longestName && !strings.ContainsRune(name, 0) // other encodings than UTF8 have longer names in it
}

// checkValues checks what names have no part in.
func (r *request) checkValues() (err error) {
	if s := r.Source; s != nil {
		switch {
		case s.Server == 0 || s.Mapping == 0:
			return malformed("a source without server or mapping")
		case s.Retained < 0:
			return malformed("a negative max_retained_wal")
		case s.Encoding != "UTF8":
			return &source.Error{SQLState: "0A000", Message: fmt.Sprintf("foreign servers are not supported in databases with the encoding %s", s.Encoding),
				Hint: "use a database with the encoding UTF8"}
		}
	}
	if r.Timeout < 0 {
		return malformed("a negative timeout_ms")
	}
	r.Timeout, r.Freshness, r.Wait = min(r.Timeout, mostWait.Milliseconds()), min(r.Freshness, mostWait.Milliseconds()), min(r.Wait, mostWait.Milliseconds())
	if r.NotBefore != "" {
		if r.notBefore, err = parseLSN(r.NotBefore); err != nil {
			return malformed("not_before is no position")
		}
	}
	return nil
}

// malformed is an error of a request that the extension does not send.
func malformed(format string, args ...any) error {
	return &source.Error{SQLState: "08P01", Message: "invalid request on a foreign server", Detail: fmt.Sprintf(format, args...),
		Hint: "install the same version of gpujoind and of the extension"}
}

// of describes an error of the JSON, without its values, which may be secret.
func of(err error) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d", syntax.Offset)
	case errors.As(err, &typ):
		return fmt.Sprintf("a member of another type than %s at byte %d", typ.Type, typ.Offset)
	case strings.Contains(err.Error(), "unknown field"):
		return "a member that is not known"
	}
	return "not JSON"
}

func parseLSN(text string) (source.LSN, error) {
	high, low, ok := strings.Cut(text, "/")
	a, err := strconv.ParseUint(high, 16, 32)
	b, err2 := strconv.ParseUint(low, 16, 32)
	if !ok || err != nil || err2 != nil {
		return 0, errors.Join(encode.ErrMalformed, err, err2)
	}
	return source.LSN(a<<32 | b), nil
}

func formatLSN(at source.LSN) string { return fmt.Sprintf("%X/%X", uint64(at)>>32, uint32(at)) }
