//go:build amd64 || arm64

package cpu

import (
	"bytes"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// equality compares one part of two keys whose hashes are equal.
type equality struct {
	st           *stream
	build, probe *device.KeyPart
	a, b         []uint64
}

func (st *stream) equal(build, probe *device.KeyPart) condition {
	n := st.dev.chunk
	return &equality{st: st, build: build, probe: probe, a: make([]uint64, n), b: make([]uint64, n)}
}

func (e *equality) eval(r *rows, out []uint8) {
	inputs := e.st.dev.inputs
	ca, sa := r.locate(e.build.Column, inputs)
	cb, sb := r.locate(e.probe.Column, inputs)
	if ca == nil || cb == nil {
		clear(out)
		return
	}
	n := len(out)
	switch {
	case e.build.Class == joincore.KeyVarlena:
		for i := range out {
			x, row, _ := sa.at(i)
			y, other, _ := sb.at(i)
			out[i] = truth(bytes.Equal(ca.varlena(x, row), cb.varlena(y, other)))
		}
	case ca.width <= 8:
		a, b := e.a[:n], e.b[:n]
		e.st.fetchInts(a, ca, sa)
		e.st.fetchInts(b, cb, sb)
		for i := range out {
			out[i] = truth(a[i] == b[i])
		}
	default:
		words := ca.width / 8
		for i := range out {
			out[i] = truth(equalWords(wordsAt(ca, sa, i, words), wordsAt(cb, sb, i, words)))
		}
	}
}

func wordsAt(c *column, s *slot, i, words int) []uint64 {
	segment, row, _ := s.at(i)
	return c.v64[segment][int(row)*words : (int(row)+1)*words]
}

func equalWords(a, b []uint64) bool {
	for i, x := range a {
		if x != b[i] {
			return false
		}
	}
	return true
}

func truth(b bool) uint8 {
	if b {
		return isTrue
	}
	return isFalse
}
