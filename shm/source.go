package shm

import (
	"errors"
	"fmt"
)

// ErrSource reports a message on foreign servers that contradicts itself.
var ErrSource = errors.New("malformed message on foreign servers")

// SourceKind is what a request on foreign servers asks for.
type SourceKind uint32

// Requests.
const (
	SourcePin      SourceKind = iota + 1 // one position for all tables of a statement
	SourceUnpin                          // ends a pin
	SourceMirror                         // begins mirrors of tables
	SourceUnmirror                       // ends mirrors of tables
	SourceImport                         // the tables of a schema of the source
	SourceMirrors                        // all mirrors of the database
	SourceSize                           // rows and bytes of tables
	SourceCheck                          // compares a mirror with its source
	SourceClose                          // ends the session with a source
)

// SourceGet is gj_source_get, a request; Length bytes of JSON follow it.
type SourceGet struct {
	Kind   SourceKind `c:"kind"`
	Length uint32     `c:"length"`
}

// Source is gj_source, the answer to SourceGet; Length bytes of JSON follow it.
type Source struct {
	Kind   SourceKind `c:"kind"`
	Length uint32     `c:"length"`
}

// MaxSource is the longest JSON of a message on foreign servers.
var MaxSource = FrameMax - Sizeof[Source]()

// AppendSourceGet appends a SOURCE_GET message.
func AppendSourceGet(dst []byte, kind SourceKind, json []byte) []byte {
	start := len(dst)
	dst = Append(BeginFrame(dst, MsgSourceGet, 0), &SourceGet{kind, uint32(len(json))})
	dst = append(dst, json...)
	FinishFrame(dst, start)
	return dst
}

// AppendSource appends a SOURCE message, with at most MaxSource bytes of JSON.
func AppendSource(dst []byte, kind SourceKind, json []byte) []byte {
	start := len(dst)
	dst = Append(BeginFrame(dst, MsgSource, 0), &Source{kind, uint32(len(json))})
	dst = append(dst, json...)
	FinishFrame(dst, start)
	return dst
}

// DecodeSourceGet returns the kind and the JSON of a SOURCE_GET body. The JSON is not checked.
func DecodeSourceGet(body []byte) (SourceKind, []byte, error) {
	g, rest, err := DecodePrefix[SourceGet](body)
	if err != nil {
		return 0, nil, err
	}
	return checkSource(g.Kind, g.Length, rest)
}

// DecodeSource returns the kind and the JSON of a SOURCE body.
func DecodeSource(body []byte) (SourceKind, []byte, error) {
	s, rest, err := DecodePrefix[Source](body)
	if err != nil {
		return 0, nil, err
	}
	return checkSource(s.Kind, s.Length, rest)
}

func checkSource(kind SourceKind, length uint32, rest []byte) (SourceKind, []byte, error) {
	if kind < SourcePin || kind > SourceClose || int64(length) != int64(len(rest)) {
		return 0, nil, fmt.Errorf("%w: kind %d with %d bytes, %d announced", ErrSource, kind, len(rest), length)
	}
	return kind, rest, nil
}
