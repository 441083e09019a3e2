//go:build cuda

package cuda

import (
	"context"
	"errors"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/rowid"
)

// gathering writes columns of rows of a space into rows of a batch. Kernels
// gather into the transfer stream's scratch: values at its front, validity bits cut off
// its end. Values go straight into a batch where the platform can do that; else,
// and bits always, since they share bytes with rows that are there, they cross
// the link together when the scratch is full or the batch is done, into the
// transfer stream's buffer, where they have the same places.
type gathering struct {
	st       *stream
	ctx      context.Context
	space    *space
	first, n int64 // of the space
	at       int64 // of the batch
	followed bool
}

// copyOut is a piece of the transfer stream's buffer that is copied to a batch
// after its download.
type copyOut struct {
	from, to []byte
	and      bool // clear validity bits instead of copying
}

// column queues one column.
func (g *gathering) column(ref joincore.ColumnRef, v *joincore.Vector) error {
	if !g.followed {
		if err := g.st.e.workspace.follow(g.st.transfer); err != nil {
			return err
		}
		g.followed = true
	}
	c, err := g.st.e.lookup(g.ctx, g.space, g.st.transfer.stream)(ref)
	if err != nil {
		return err
	}
	perPiece := (g.st.transfer.scratchBytes - 4*driver.Line) / int64(c.Width+2) / 32 * 32
	for done := int64(0); done < g.n; {
		n := min(perPiece, g.n-done)
		if err := g.piece(c, v, done, n); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// piece queues n rows of a column.
func (g *gathering) piece(c rowid.Column, v *joincore.Vector, done, n int64) error {
	l := g.st.transfer
	width := int64(c.Width)
	to := v.Values[(g.at+done)*width:][:n*width]
	direct := g.st.e.workspace.gpu.transferMethod(to) != links.Staged
	nullable := c.Validity != 0 || c.Optional || c.Missing
	if direct && !nullable && c.Positions == 0 {
		return g.st.e.workspace.gpu.deviceToHost(l.stream, to, c.Values+driver.Ptr((g.first+done)*width))
	}
	if l.scratch.Free() < driver.Lines(n*width)+driver.Lines(n)+driver.Lines(n/8+8) {
		if err := g.flush(g.ctx); err != nil {
			return err
		}
	}
	values, err := l.scratch.Take(n * width)
	if err != nil {
		return err
	}
	var valid driver.Ptr
	if nullable {
		if valid, err = l.scratch.Take(n); err != nil {
			return err
		}
	}
	if err := l.queue.Gather(c, g.first+done, n, values, valid); err != nil {
		return err
	}
	if direct {
		err = g.st.e.workspace.gpu.deviceToHost(l.stream, to, values)
	} else {
		g.st.staged = true
		g.st.copy = append(g.st.copy, copyOut{from: l.staging.Bytes()[values-l.scratch.Base():][:n*width], to: to})
	}
	if err != nil || !nullable {
		return err
	}
	return g.validity(v, valid, done, n)
}

// settle waits for the transfer stream, even after an error, and forgets its
// queued work.
func (st *stream) settle() error {
	err := st.transfer.stream.Sync(context.Background())
	st.empty()
	return err
}

// validity queues the validity bits of a piece.
func (g *gathering) validity(v *joincore.Vector, valid driver.Ptr, done, n int64) error {
	l := g.st.transfer
	row := g.at + done
	shift := row % 32
	words := (shift + n + 31) / 32
	bits, err := l.scratch.Cut(4 * words)
	if err != nil {
		return err
	}
	from := l.staging.Bytes()[bits-l.scratch.Base():][:4*words]
	first := (row - shift) / 8
	g.st.copy = append(g.st.copy, copyOut{from: from, to: v.Validity[first : (row+n+7)/8], and: true})
	return l.queue.Pack(valid, n, int(shift), bits)
}

// flush waits until everything is in the batch, including the pieces staged in
// the transfer stream's buffer. After an error no copy is in flight either, so
// the owner may reuse the batch.
func (g *gathering) flush(ctx context.Context) error {
	if err := g.st.bringBack(ctx); err != nil {
		return errors.Join(err, g.st.settle())
	}
	for _, c := range g.st.copy {
		if !c.and {
			copy(c.to, c.from)
			continue
		}
		for i := range c.to {
			c.to[i] &= c.from[i]
		}
	}
	g.st.empty()
	return nil
}

// bringBack downloads the staged pieces to the transfer stream's buffer and
// waits.
func (st *stream) bringBack(ctx context.Context) error {
	l := st.transfer
	base, host, end := l.scratch.Base(), l.staging.Bytes(), l.scratch.Size()
	if st.staged {
		if err := l.stream.CopyOut(host[:l.scratch.Mark()], base); err != nil {
			return err
		}
	}
	if err := l.stream.CopyOut(host[end:], base+driver.Ptr(end)); err != nil {
		return err
	}
	return l.stream.Sync(ctx)
}

// empty makes the scratch free again.
func (st *stream) empty() {
	st.copy, st.staged = st.copy[:0], false
	st.transfer.empty()
}
