package source

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Versions that lose changes are refused, each other lack too.
func TestFactsCheck(t *testing.T) {
	good := Facts{WALLevel: "logical", Encoding: "UTF8"}
	for _, c := range []struct {
		version int
		change  func(*Facts)
		want    *Error
	}{
		{150014, nil, nil},
		{150020, nil, nil},
		{150013, nil, errMinor},
		{160009, nil, errMinor},
		{160010, nil, nil},
		{170005, nil, errMinor},
		{170006, nil, nil},
		{180000, nil, nil},
		{140022, nil, errVersion},
		{180001, func(f *Facts) { f.Standby = true }, errStandby},
		{180001, func(f *Facts) { f.WALLevel = "replica" }, errWALLevel},
		{180001, func(f *Facts) { f.Encoding = "SQL_ASCII" }, errEncoding},
		{180001, func(f *Facts) { f.Encoding = "LATIN1" }, nil},
	} {
		f := good
		f.Version = c.version
		if c.change != nil {
			c.change(&f)
		}
		err := f.check()
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%d: %v instead of %v", c.version, err, c.want)
		}
	}
}

// At the beginning of a page the insert position is behind a header that nothing sends.
func TestEndOfRecord(t *testing.T) {
	f := Facts{WALBlock: 8192, WALFile: 16 << 20}
	for at, want := range map[LSN]LSN{
		0x1000000 + 40:        0x1000000,
		0x1000000 + 8192 + 24: 0x1000000 + 8192,
		0x1000000 + 8192 + 40: 0x1000000 + 8192 + 40,
		0x1000000 + 24:        0x1000000, // no record ends there either
		0x1234568:             0x1234568,
	} {
		if got := f.endOfRecord(at); got != want {
			t.Errorf("%x: %x instead of %x", at, got, want)
		}
	}
	if got := (Facts{}).endOfRecord(40); got != 40 {
		t.Errorf("without facts: %d", got)
	}
}

// The server's errors become refusals; others keep their SQLSTATE.
func TestTranslate(t *testing.T) {
	for _, c := range []struct {
		code, message string
		want          *Error
		passes        bool
	}{
		{"28P01", "password authentication failed", errPassword, false},
		{"42501", "must be superuser or replication role to start walsender", errReplication, false},
		{"42501", "permission denied to start WAL sender", errReplication, false},
		{"53400", "all replication slots are in use", errNoSlot, false},
		{"57P01", "terminating connection due to administrator command", errStarting, true},
		{"58P01", "requested WAL segment 0000 has already been removed", errSlotLost, false},
		{"53300", "sorry, too many clients already", errConnections, true},
	} {
		err := translate("testing", &pgconn.PgError{Code: c.code, Message: c.message})
		if !errors.Is(err, c.want) || Passing(err) != c.passes {
			t.Errorf("%s %s: %v, passes %v", c.code, c.message, err, Passing(err))
		}
	}
	var e *Error
	if err := translate("testing", &pgconn.PgError{Code: "22012", Message: "division by zero"}); !errors.As(err, &e) || e.SQLState != "22012" || e.Detail != "division by zero" {
		t.Errorf("%+v", e)
	}
}
