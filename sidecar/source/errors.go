package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Error is an error as PostgreSQL shows it. It contains no password: its texts are this
// package's or the source's, never those of a connection string.
type Error struct {
	SQLState string // five characters
	Message  string // lower case, no full stop
	Detail   string // "" if there is none
	Hint     string // what to do
	ofTable  bool   // Message is of a table that it does not name
	cause    error
}

// Error returns all parts in one line.
func (e *Error) Error() string { return e.Text() + " [" + e.SQLState + "]" }

// Text returns the message with its detail and hint, in one line.
func (e *Error) Text() string {
	text := e.Message
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap returns the error of the driver or the operating system.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is a refusal of the same kind: same SQLSTATE and message.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.SQLState == e.SQLState && other.Message == e.Message
}

// because returns a copy of the error with details.
func (e *Error) because(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// advising returns a copy of the error with a hint.
func (e *Error) advising(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// from returns a copy of the error with its cause.
func (e *Error) from(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Passing reports whether an error may pass without anybody's doing: a lost connection, a
// server that restarts. Others need a change of the source or of the options.
func Passing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return true
	}
	switch {
	case errors.Is(e, errTLS), errors.Is(e, errCertificate):
		return false
	case strings.HasPrefix(e.SQLState, "08"), strings.HasPrefix(e.SQLState, "57P"),
		e.SQLState == "53300", e.SQLState == "55006", e.SQLState == "40001", e.SQLState == "40P01":
		return true
	}
	return false
}

// translate makes an Error of what the driver reports while doing something.
func translate(doing string, err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var server *pgconn.PgError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var connecting *pgconn.ConnectError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &server):
		return ofServer(doing, server).from(err)
	case errors.As(err, &verification), errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid),
		strings.Contains(err.Error(), "x509:"):
		return errCertificate.because("%v", innermost(err)).from(err)
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return errTLS.from(err)
	case errors.As(err, &lookup):
		return errUnreachable.because("host name %q was not found", lookup.Name).from(err)
	case errors.As(err, &connecting):
		return errUnreachable.because("%v", innermost(err)).from(err)
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return errTimeout.because("%s", doing).from(err)
	}
	return errLost.because("%s: %v", doing, innermost(err)).from(err)
}

// innermost returns the last error of a chain, which names no configuration.
func innermost(err error) error {
	for {
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			err = joined.Unwrap()[0]
			continue
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// ofServer makes an Error of one that the server sent.
func ofServer(doing string, e *pgconn.PgError) *Error {
	for _, known := range answers {
		if known.state == e.Code && (known.text == "" || strings.Contains(e.Message, known.text)) {
			return known.error.because("%s", e.Message)
		}
	}
	own := &Error{SQLState: e.Code, Message: fmt.Sprintf("the source refused %s", doing), Detail: e.Message, Hint: e.Hint}
	return own
}
