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
	p := &Pin{token: newToken(), peer: from, entry: e, refs: 1, tables: map[source.Name]*pinned{}}
	var choices []choice
	var age time.Duration
	var err error
	if r.Token != "" {
		choices, err = s.takeAgain(ctx, p, r)
	} else {
		choices, age, err = e.take(ctx, p, r)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	for i := range choices {
		c := &choices[i]
		p.tables[r.Tables[i].name()] = &pinned{direct: c.direct, oid: c.held.Table, columns: c.held.All}
	}
	s.register(from, p)
	return pinAnswer{p.token, p.position, time.Since(began).Microseconds(), age.Microseconds(), answers(choices)}, nil
}

// take makes a pin's position.
func (e *entry) take(ctx context.Context, p *Pin, r *request) (choices []choice, age time.Duration, err error) {
	if r.Mirror && e.limit > 0 {
		e.session.Mirror(r.mirrorable()...)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Millisecond)
	defer cancel()
	choices = e.choose(r, nil)
	if mirrored(choices) {
		if age, err = e.fresh(waiting, r); err != nil {
			return nil, 0, err
		}
		p.mirror = e.mirrors.Pin()
		p.position = formatLSN(p.mirror.Position())
		if choices = e.choose(r, p.mirror); !mirrored(choices) { // a mirror has failed meanwhile
			p.mirror.Close()
			p.mirror = nil
		}
	}
	if err := e.direct(ctx, p, r, choices); err != nil {
		return nil, 0, err
	}
	if p.mirror == nil {
		p.position, age = e.positionAfter(waiting), 0
	}
	return choices, age, nil
}

// takeAgain gives a pin the position of another one, for other tables.
func (s *Sources) takeAgain(ctx context.Context, p *Pin, r *request) ([]choice, error) {
	first, err := s.Find(r.Token, p.peer)
	if err != nil {
		return nil, err
	}
	p.first = first
	if first.entry != p.entry {
		return nil, errNoPin
	}
	p.mirror, p.direct, p.position = first.mirror, first.direct, first.position
	choices := p.entry.choose(r, first.mirror)
	for i := range choices {
		c := &choices[i]
		switch {
		case first.mirror == nil:
			*c = choice{direct: true, rows: c.rows, reason: "the transaction reads tables of this server directly", hint: c.hint}
		case c.direct && !r.Mix:
			return nil, &source.Error{SQLState: "55000", Message: fmt.Sprintf("table %s cannot be read at the position of the transaction", r.Tables[i].name()),
				Detail: c.reason, Hint: "run the transaction again, or set the server's option mix"}
		}
	}
	return choices, p.entry.direct(ctx, p, r, choices)
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
func (s *Sources) register(from Peer, p *Pin) {
	p.end = func() {
		s.mu.Lock()
		delete(s.pins, p.token)
		s.mu.Unlock()
		s.leave(p.entry)
	}
	s.mu.Lock()
	p.entry.users++
	s.pins[p.token] = p
	s.mu.Unlock()
	from.Owner.add(p)
}

// direct takes a snapshot for the tables that are read directly, if there are any.
func (e *entry) direct(ctx context.Context, p *Pin, r *request, choices []choice) (err error) {
	var names []source.Name
	for i := range choices {
		if choices[i].direct {
			names = append(names, r.Tables[i].name())
		}
	}
	if names == nil || p.direct != nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, directTime)
	defer cancel()
	p.direct, err = e.session.snapshot(bounded, names...)
	return err
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
