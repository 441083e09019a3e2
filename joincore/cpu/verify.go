package cpu

import (
	"bytes"

	"gpujoin/joincore"
	"gpujoin/joincore/device"
)

// pairCondition returns the condition that pairs with equal hashes must satisfy: key
// parts that the hash does not compare exactly are equal, and the residual is true.
// nil: all pairs pass.
func (d *dev) pairCondition(m *device.Match) condition {
	var all []condition
	if !m.Build.Exact {
		for i := range m.Build.Parts {
			all = append(all, &equality{build: &m.Build.Parts[i], probe: &m.Probe.Parts[i]})
		}
	}
	if m.Residual != nil {
		all = append(all, d.condition(m.Residual, m.Parameters))
	}
	if len(all) == 0 {
		return nil
	}
	return newLogic(all, true)
}

// equality compares one part of two keys whose hashes are equal.
type equality struct{ build, probe *device.KeyPart }

func (e *equality) fails() bool    { return false }
func (e *equality) registers() int { return 0 }

func (e *equality) eval(st *stream, r *rows, out []uint8) error {
	inputs := st.dev.inputs
	ca, sa := r.locate(e.build.Column, inputs)
	cb, sb := r.locate(e.probe.Column, inputs)
	if ca == nil || cb == nil {
		clear(out)
		return nil
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
		a, b := st.first[:n], st.second[:n]
		st.fetchInts(a, ca, sa)
		st.fetchInts(b, cb, sb)
		for i := range out {
			out[i] = truth(a[i] == b[i])
		}
	default:
		words := ca.width / 8
		for i := range out {
			out[i] = truth(equalWords(wordsAt(ca, sa, i, words), wordsAt(cb, sb, i, words)))
		}
	}
	return nil
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
