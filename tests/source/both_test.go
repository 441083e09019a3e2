package source

import (
	"errors"
	"time"

	"gpujoin/sidecar/source"
)

// both is a target that passes everything on to a recorder and to mirrors, so that one run
// tests both.
type both struct {
	recorder *recorder
	mirrors  source.Target
}

// fillingBoth is a table that loads into both.
type fillingBoth struct{ recorder, mirrors source.Loading }

func (b *both) Begin(t *source.Table) (source.Loading, error) {
	m, err := b.mirrors.Begin(t)
	if err != nil {
		return nil, err
	}
	r, err := b.recorder.Begin(t)
	return &fillingBoth{r, m}, err
}

func (b *both) Change(c *source.Change) error {
	return errors.Join(b.recorder.Change(c), b.mirrors.Change(c))
}

func (b *both) Commit(end source.LSN, at time.Time) error {
	return errors.Join(b.recorder.Commit(end, at), b.mirrors.Commit(end, at))
}

func (b *both) Received(at source.LSN) { b.recorder.Received(at); b.mirrors.Received(at) }
func (b *both) Abort()                 { b.recorder.Abort(); b.mirrors.Abort() }
func (b *both) Fail(t *source.Table, reason error) {
	b.recorder.Fail(t, reason)
	b.mirrors.Fail(t, reason)
}
func (b *both) Reset(reason error) { b.recorder.Reset(reason); b.mirrors.Reset(reason) }
func (f *fillingBoth) Batch(b *source.Batch) error {
	return errors.Join(f.recorder.Batch(b), f.mirrors.Batch(b))
}
func (f *fillingBoth) Change(c *source.Change) error {
	return errors.Join(f.recorder.Change(c), f.mirrors.Change(c))
}
func (f *fillingBoth) Join(at source.LSN) error {
	return errors.Join(f.recorder.Join(at), f.mirrors.Join(at))
}
func (f *fillingBoth) Abandon(reason error) { f.recorder.Abandon(reason); f.mirrors.Abandon(reason) }
