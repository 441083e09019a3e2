package pgout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed means that bytes are no message of the protocol.
var ErrMalformed = errors.New("malformed message of pgoutput")

// mostColumns is the greatest number of columns of a table (MaxHeapAttributeNumber).
const mostColumns = 1600

// Decoder decodes messages. The zero value is ready; it is used by one goroutine.
type Decoder struct {
	begin    Begin
	commit   Commit
	origin   Origin
	relation Relation
	typ      Type
	insert   Insert
	update   Update
	remove   Delete
	truncate Truncate
	logical  Logical
}

// Decode decodes one message: the data of one XLogData frame. The error wraps ErrMalformed.
func (d *Decoder) Decode(message []byte) (Message, error) {
	if len(message) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	r := reader{rest: message[1:]}
	m := d.decode(&r, message[0])
	switch {
	case m == nil && r.fault == "":
		r.fail("its type is unknown")
	case r.fault == "" && len(r.rest) > 0:
		r.fail("bytes follow it")
	}
	if r.fault != "" {
		return nil, fmt.Errorf("%w: type %q, %d bytes: %s", ErrMalformed, message[0], len(message), r.fault)
	}
	return m, nil
}

// decode reads the rest of a message of a type. nil: there is no such type.
func (d *Decoder) decode(r *reader, kind byte) Message {
	switch kind {
	case 'I':
		m := &d.insert
		m.Relation = r.u32()
		r.expect('N', "no new row")
		m.New = r.tuple(m.New)
		return m
	case 'U':
		m := &d.update
		m.Relation, m.Identity, m.Old = r.u32(), 0, m.Old[:0]
		part := r.u8()
		if part == 'K' || part == 'O' {
			m.Identity = part
			m.Old = r.tuple(m.Old)
			part = r.u8()
		}
		if part != 'N' {
			r.fail("no new row")
		}
		m.New = r.tuple(m.New)
		return m
	case 'D':
		m := &d.remove
		m.Relation, m.Identity = r.u32(), r.u8()
		if m.Identity != 'K' && m.Identity != 'O' {
			r.fail("no old row")
		}
		m.Old = r.tuple(m.Old)
		return m
	case 'B':
		d.begin = Begin{Final: r.lsn(), Time: int64(r.u64()), XID: r.u32()}
		return &d.begin
	case 'C':
		if r.u8() != 0 {
			r.fail("unknown flags")
		}
		d.commit = Commit{Commit: r.lsn(), End: r.lsn(), Time: int64(r.u64())}
		return &d.commit
	case 'R':
		return d.describe(r)
	case 'Y':
		d.typ = Type{ID: r.u32(), Namespace: r.name(), Name: r.name()}
		return &d.typ
	case 'T':
		return d.truncated(r)
	case 'O':
		d.origin = Origin{Commit: r.lsn(), Name: r.name()}
		return &d.origin
	case 'M':
		flags := r.u8()
		if flags > 1 {
			r.fail("unknown flags")
		}
		d.logical = Logical{Transactional: flags == 1, LSN: r.lsn(), Prefix: r.name(), Content: r.bytes(r.u32())}
		return &d.logical
	}
	return nil
}

func (d *Decoder) describe(r *reader) Message {
	m := &d.relation
	m.ID, m.Namespace, m.Name, m.Identity = r.u32(), r.name(), r.name(), r.u8()
	n := int(r.u16())
	m.Columns = m.Columns[:0]
	if n > mostColumns {
		r.fail("too many columns")
	}
	for range n {
		c := Column{Key: r.flag(), Name: r.name(), Type: r.u32(), Typmod: int32(r.u32())}
		if r.fault != "" {
			break
		}
		m.Columns = append(m.Columns, c)
	}
	return m
}

func (d *Decoder) truncated(r *reader) Message {
	m := &d.truncate
	n, options := r.u32(), r.u8()
	if options > 3 {
		r.fail("unknown options")
	}
	m.Cascade, m.RestartIdentity = options&1 != 0, options&2 != 0
	m.Relations = m.Relations[:0]
	if uint64(len(r.rest)) != 4*uint64(n) {
		r.fail("another number of tables than it says")
		return m
	}
	for range n {
		m.Relations = append(m.Relations, r.u32())
	}
	return m
}

// reader reads a message. After the first fault it returns zeros.
type reader struct {
	rest  []byte
	fault string // the first one
}

func (r *reader) fail(why string) {
	if r.fault == "" {
		r.fault = why
	}
	r.rest = nil
}

const truncatedMessage = "it is cut off"

func (r *reader) u8() byte {
	if len(r.rest) < 1 {
		r.fail(truncatedMessage)
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) u16() uint16 {
	if len(r.rest) < 2 {
		r.fail(truncatedMessage)
		return 0
	}
	v := binary.BigEndian.Uint16(r.rest)
	r.rest = r.rest[2:]
	return v
}

func (r *reader) u32() uint32 {
	if len(r.rest) < 4 {
		r.fail(truncatedMessage)
		return 0
	}
	v := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

func (r *reader) u64() uint64 {
	if len(r.rest) < 8 {
		r.fail(truncatedMessage)
		return 0
	}
	v := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

func (r *reader) lsn() LSN { return LSN(r.u64()) }

// flag reads the flags of a column; the only one says that it is part of the key.
func (r *reader) flag() bool {
	v := r.u8()
	if v > 1 {
		r.fail("unknown flags of a column")
	}
	return v == 1
}

func (r *reader) expect(part byte, why string) {
	if r.u8() != part {
		r.fail(why)
	}
}

// bytes reads n bytes.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.rest)) {
		r.fail(truncatedMessage)
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n:]
	return v
}

// name reads a text up to its zero byte.
func (r *reader) name() []byte {
	n := bytes.IndexByte(r.rest, 0)
	if n < 0 {
		r.fail("a name has no end")
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n+1:]
	return v
}

// tuple reads the values of a row into the memory of an earlier one.
func (r *reader) tuple(to Tuple) Tuple {
	n := int(r.u16())
	to = to[:0]
	// each value has a byte at least
	if n > len(r.rest) || n > mostColumns {
		r.fail("more columns than it has bytes, or a table may have")
		return to
	}
	rest := r.rest
	for range n {
		if len(rest) == 0 {
			r.fail(truncatedMessage)
			return to[:0]
		}
		v := Value{Kind: Kind(rest[0])}
		rest = rest[1:]
		switch v.Kind {
		case Binary, Text:
			if len(rest) < 4 {
				r.fail(truncatedMessage)
				return to[:0]
			}
			size := uint64(binary.BigEndian.Uint32(rest))
			rest = rest[4:]
			if size > uint64(len(rest)) {
				r.fail("a value is longer than the message")
				return to[:0]
			}
			v.Data, rest = rest[:size:size], rest[size:]
		case Null, Unchanged:
		default:
			r.fail("a value of an unknown kind")
			return to[:0]
		}
		to = append(to, v)
	}
	r.rest = rest
	return to
}
