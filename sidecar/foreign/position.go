package foreign

import (
	"context"
	"fmt"
	"time"

	"gpujoin/sidecar/source"
)

// pinAnswer answers PIN.
type pinAnswer struct {
	Token    string        `json:"token"`
	Position string        `json:"position"`
	Waited   int64         `json:"waited_us"`
	Age      int64         `json:"age_us"`
	Tables   []tableAnswer `json:"tables"`
}

// tableAnswer says how a table is read.
type tableAnswer struct {
	Direct bool   `json:"direct"`
	Reason string `json:"reason"` // of Direct
	Hint   string `json:"hint"`
	Rows   int64  `json:"rows"` // about; -1: unknown
}

// directTime bounds the beginning of a direct read, which may have to connect.
const directTime = 30 * time.Second

// pin makes the position of a statement: of all mirrored tables one, which is as fresh as is
// wanted, and of all that are read directly one snapshot.
func (s *Sources) pin(ctx context.Context, from Peer, e *entry, r *request) (any, error) {
	if r.Show {
		age, _ := e.session.Age()
		return pinAnswer{Position: formatLSN(e.mirrors.Position()), Age: age.Microseconds(), Tables: answers(e.choose(r, nil))}, nil
	}
	began := time.Now()
	if r.Mirror && e.limit > 0 {
		e.session.Mirror(r.mirrorable()...)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Millisecond)
	defer cancel()
	p := &Pin{token: newToken(), peer: from, refs: 1, tables: map[source.Name]*pinned{}}
	var out pinAnswer
	choices := e.choose(r, nil)
	if mirrored(choices) {
		age, err := e.fresh(waiting, r)
		if err != nil {
			return nil, err
		}
		p.mirror = e.mirrors.Pin()
		out.Position, out.Age = formatLSN(p.mirror.Position()), age.Microseconds()
		if choices = e.choose(r, p.mirror); !mirrored(choices) { // a mirror has failed meanwhile
			p.mirror.Close()
			p.mirror = nil
		}
	}
	if err := e.direct(ctx, p, choices); err != nil {
		if p.mirror != nil {
			p.mirror.Close()
		}
		return nil, err
	}
	if p.mirror == nil {
		out.Position, out.Age = e.positionAfter(waiting), 0
	}
	for i := range choices {
		c := &choices[i]
		p.tables[r.Tables[i].name()] = &pinned{direct: c.direct, oid: c.held.Table, columns: c.held.All}
	}
	s.register(from, e, p)
	out.Token, out.Waited, out.Tables = p.token, time.Since(began).Microseconds(), answers(choices)
	return out, nil
}

// mirrorable returns the names of the tables of which a mirror may be made.
func (r *request) mirrorable() (names []source.Name) {
	for i := range r.Tables {
		if r.Tables[i].Mirror {
			names = append(names, r.Tables[i].name())
		}
	}
	return names
}

// register gives a pin to its owner.
func (s *Sources) register(from Peer, e *entry, p *Pin) {
	p.end = func() {
		s.mu.Lock()
		delete(s.pins, p.token)
		s.mu.Unlock()
		s.leave(e)
	}
	s.mu.Lock()
	e.users++
	s.pins[p.token] = p
	s.mu.Unlock()
	from.Owner.add(p)
}

// direct takes a snapshot for the tables that are read directly, if there are any.
func (e *entry) direct(ctx context.Context, p *Pin, choices []choice) (err error) {
	for i := range choices {
		if choices[i].direct {
			bounded, cancel := context.WithTimeout(ctx, directTime)
			defer cancel()
			p.direct, err = e.session.snapshot(bounded)
			return err
		}
	}
	return nil
}

// positionAfter returns a position behind everything that a snapshot sees which was taken
// before the call; "": the source does not tell, as a standby.
func (e *entry) positionAfter(ctx context.Context) string {
	at, err := e.session.Latest(ctx)
	if err != nil {
		return ""
	}
	return formatLSN(at)
}

// fresh waits until the mirrors are as fresh as a request wants. It returns how old they are
// at most.
func (e *entry) fresh(ctx context.Context, r *request) (time.Duration, error) {
	if r.Freshness >= 0 {
		age, known := e.session.Age()
		if known && age <= time.Duration(r.Freshness)*time.Millisecond && e.mirrors.Position() >= r.notBefore {
			return age, nil
		}
	}
	// What the source answers now is behind every position that a statement has seen, unless
	// the source has lost the end of its history. Positions of that say nothing any more.
	began := time.Now()
	at, err := e.ask(ctx)
	if err != nil {
		return 0, err
	}
	if err := e.session.WaitFor(ctx, at); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// askPause is the time between two attempts to ask a source that does not answer.
const askPause = 100 * time.Millisecond

// ask asks the source for its position, and goes on asking while the connection may come back.
func (e *entry) ask(ctx context.Context) (source.LSN, error) {
	var last error
	for ctx.Err() == nil {
		at, err := e.session.Latest(ctx)
		if err == nil || !source.Passing(err) {
			return at, err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(askPause):
		case <-ctx.Done():
		}
	}
	late := &source.Error{SQLState: "57014", Message: "the source could not be asked for its position in time",
		Hint: "raise freshness_timeout, or set freshness to an interval"}
	if last != nil {
		late.Detail, _ = explained(last)
		late.Detail += "; "
	}
	if age, known := e.session.Age(); known {
		late.Detail += fmt.Sprintf("the mirrors are %.1f s old", age.Seconds())
	} else {
		late.Detail += "nothing has been received from the source"
	}
	return 0, late
}
