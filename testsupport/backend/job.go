package backend

import (
	"fmt"

	"gpujoin/shm"
)

// Hello sends HELLO and returns the daemon's WELCOME.
func (c *Conn) Hello(h shm.Hello) (shm.Welcome, error) {
	if err := Send(c, shm.MsgHello, &h); err != nil {
		return shm.Welcome{}, err
	}
	w, _, err := receive[shm.Welcome](c, shm.MsgWelcome)
	return w, err
}

// Open opens a job as the leader and waits until the daemon admits it. job is
// the job's JSON.
func (c *Conn) Open(open shm.Open, job []byte) (shm.Admitted, error) {
	open.JSONLength, open.Participant = uint32(len(job)), -1
	if open.Participants == 0 {
		open.Participants = 1
	}
	if err := Send(c, shm.MsgOpen, &open, job...); err != nil {
		return shm.Admitted{}, err
	}
	a, _, err := receive[shm.Admitted](c, shm.MsgAdmitted)
	return a, err
}

// Attach joins the job that another participant opened, as the participant with
// the given number.
func (c *Conn) Attach(a shm.Admitted, participant int32) error {
	if err := Send(c, shm.MsgAttach, &shm.Attach{Job: a.Job, Token: a.Token, Participant: participant}); err != nil {
		return err
	}
	_, _, err := receive[shm.Admitted](c, shm.MsgAdmitted)
	return err
}

// Want requests n extents and returns those that the daemon granted: at least
// one, possibly fewer than n.
func (c *Conn) Want(n int) ([]*Extent, error) {
	if err := Send(c, shm.MsgWant, &shm.Want{Count: uint32(n)}); err != nil {
		return nil, err
	}
	g, fds, err := receive[shm.Grant](c, shm.MsgGrant)
	if err != nil {
		return nil, err
	}
	if int(g.Count) != len(fds) || len(fds) > n || len(fds) == 0 {
		shm.CloseFDs(fds)
		return nil, fmt.Errorf("%d extents granted with %d descriptors, %d wanted", g.Count, len(fds), n)
	}
	var out []*Extent
	for i, fd := range fds {
		e, err := c.mapExtent(g.Extents[i], fd)
		if err != nil {
			shm.CloseFDs(fds[i+1:])
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Filled hands over an extent with a batch of rows of an input. The extent is
// unmapped.
func (c *Conn) Filled(e *Extent, input, rows int) error {
	if err := c.unmap(e); err != nil {
		return err
	}
	return Send(c, shm.MsgFilled, &shm.Filled{Extent: e.ID, Input: uint32(input), Rows: uint32(rows)})
}

// ChainFilled hands over an extent with the given number of bytes of a chain.
func (c *Conn) ChainFilled(e *Extent, chain uint64, bytes uint32) error {
	if err := c.unmap(e); err != nil {
		return err
	}
	return Send(c, shm.MsgChainFilled, &shm.ChainFilled{Extent: e.ID, Chain: chain, Bytes: bytes})
}

// Fed declares that this participant has handed over all its input.
func (c *Conn) Fed(f shm.Fed) error {
	if err := Send(c, shm.MsgFed, &f); err != nil {
		return err
	}
	_, _, err := c.expect(shm.MsgFedOK)
	return err
}

// InputFed declares that this participant has handed over all its rows of an
// input that is the source of a filter.
func (c *Conn) InputFed(input int) error {
	return Send(c, shm.MsgInputFed, &shm.InputFed{Input: uint32(input)})
}

// Filter asks for a filter of the job, waits until it is made, and returns it
// with its extent, which the caller must release. Both are nil if there is no
// filter.
func (c *Conn) Filter(filter int) (*shm.FilterView, *Extent, error) {
	if err := Send(c, shm.MsgFilterGet, &shm.FilterGet{Filter: uint32(filter)}); err != nil {
		return nil, nil, err
	}
	m, fds, err := receive[shm.Filter](c, shm.MsgFilter)
	if err != nil {
		return nil, nil, err
	}
	if int(m.Filter) != filter || (len(fds) == 1) != (m.Kind != uint32(shm.FilterNone)) {
		shm.CloseFDs(fds)
		return nil, nil, fmt.Errorf("filter %d of kind %d with %d descriptors instead of filter %d", m.Filter, m.Kind, len(fds), filter)
	}
	if len(fds) == 0 {
		return nil, nil, nil
	}
	e, err := c.mapShared(m.Extent, fds[0])
	if err != nil {
		return nil, nil, err
	}
	v, err := shm.ReadFilter(e.Data)
	if err == nil && uint32(v.Header.Kind) != m.Kind {
		err = fmt.Errorf("filter %d is of kind %d instead of %d", filter, v.Header.Kind, m.Kind)
	}
	return v, e, err
}

// Filtered reports how many rows a filter has tested and dropped.
func (c *Conn) Filtered(filter int, tested, dropped uint64) error {
	return Send(c, shm.MsgFiltered, &shm.Filtered{Filter: uint32(filter), Tested: tested, Dropped: dropped})
}

// Run starts the join and waits until the daemon announces its results or its
// end. It releases result batches of earlier generations that arrive meanwhile.
func (c *Conn) Run(generation uint32) error {
	if err := Send(c, shm.MsgRun, &shm.Run{Generation: generation}); err != nil {
		return err
	}
	for {
		f, body, fds, err := c.Receive()
		if err != nil {
			return err
		}
		switch f.Type {
		case shm.MsgRunning:
			return nil
		case shm.MsgEnd:
		case shm.MsgResult:
			r, err := shm.Decode[shm.Result](body)
			shm.CloseFDs(fds)
			if err != nil {
				return err
			}
			if err := Send(c, shm.MsgRelease, &shm.Release{Extent: r.Extent}); err != nil {
				return err
			}
		default:
			shm.CloseFDs(fds)
			return fmt.Errorf("%s where RUNNING was expected", f.Type)
		}
	}
}

// Next grants the daemon credits for n more result batches.
func (c *Conn) Next(n int) error { return Send(c, shm.MsgNext, &shm.Next{Count: uint32(n)}) }

// Result returns the next result batch, or nil after the last one. The caller
// must release the extent.
func (c *Conn) Result() (*Extent, error) {
	f, body, fds, err := c.Receive()
	if err != nil {
		return nil, err
	}
	switch {
	case f.Type == shm.MsgEnd:
		return nil, nil
	case f.Type != shm.MsgResult || len(fds) != 1:
		shm.CloseFDs(fds)
		return nil, fmt.Errorf("%s with %d descriptors where RESULT was expected", f.Type, len(fds))
	}
	r, err := shm.Decode[shm.Result](body)
	if err != nil {
		shm.CloseFDs(fds)
		return nil, err
	}
	e, err := c.mapExtent(r.Extent, fds[0])
	if err != nil {
		return nil, err
	}
	e.Rows = int(r.Rows)
	return e, nil
}

// Release unmaps an extent and returns it to the daemon.
func (c *Conn) Release(e *Extent) error {
	if err := c.unmap(e); err != nil {
		return err
	}
	return Send(c, shm.MsgRelease, &shm.Release{Extent: e.ID})
}

// Chain returns a copy of the data of an extent of a chain.
func (c *Conn) Chain(chain uint64) ([]byte, error) {
	if err := Send(c, shm.MsgChainGet, &shm.ChainGet{Chain: chain}); err != nil {
		return nil, err
	}
	m, fds, err := receive[shm.ChainExtent](c, shm.MsgChainExtent)
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		shm.CloseFDs(fds)
		return nil, fmt.Errorf("an extent of a chain with %d descriptors", len(fds))
	}
	e, err := c.mapExtent(m.Extent, fds[0])
	if err != nil {
		return nil, err
	}
	h, data, err := shm.ReadChainExtent(e.Data)
	if err != nil {
		return nil, err
	}
	if h.Chain != chain || m.Chain != chain || h.Bytes != m.Bytes {
		return nil, fmt.Errorf("extent %#x of a chain instead of %#x", h.Chain, chain)
	}
	data = append([]byte(nil), data...)
	return data, c.Release(e)
}

// Stats requests the statistics of the job.
func (c *Conn) Stats() (*shm.Report, error) {
	if err := c.SendEmpty(shm.MsgStatsGet); err != nil {
		return nil, err
	}
	body, _, err := c.expect(shm.MsgStats)
	if err != nil {
		return nil, err
	}
	return DecodeReport(body)
}

// Status requests the daemon's status, which is JSON.
func (c *Conn) Status() ([]byte, error) { return c.askStatus(shm.MsgStatusGet) }

// StatusReset lets the daemon count anew, and returns its status.
func (c *Conn) StatusReset() ([]byte, error) { return c.askStatus(shm.MsgStatusReset) }

func (c *Conn) askStatus(request shm.Message) ([]byte, error) {
	if err := c.SendEmpty(request); err != nil {
		return nil, err
	}
	body, _, err := c.expect(shm.MsgStatus)
	return append([]byte(nil), body...), err
}
