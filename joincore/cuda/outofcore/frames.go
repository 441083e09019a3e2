//go:build cuda

package outofcore

import (
	"context"
	"encoding/binary"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/rowid"
)

const (
	wideBytes   = 8  // of a value that may be stored in fewer
	narrowBytes = 4  // of such a value, if its window stores differences
	rangeBytes  = 16 // of a column: its greatest value, and the complement of its least one
)

// candidates returns the moved payloads of a side that may be stored in 4 bytes.
func (t *SharedJoin) candidates(side int, d *division) (out []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.frames[side] == nil {
		t.frames[side] = make([]frame, len(d.moved))
	}
	for i, m := range d.moved {
		if m.kind == rowid.PayloadValues && m.bytes == wideBytes && t.frames[side][i].state != wide {
			out = append(out, i)
		}
	}
	return out
}

// choose returns how a window stores its values; found are the ranges of the candidates.
func (t *SharedJoin) choose(side int, d *division, candidates []int, found []byte) []stored {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]stored, len(d.moved))
	for i, m := range candidates {
		b := found[i*rangeBytes:]
		greatest, least := binary.LittleEndian.Uint64(b)^1<<63, ^binary.LittleEndian.Uint64(b[8:])^1<<63
		if f := &t.frames[side][m]; f.holds(int64(least), int64(greatest)) {
			out[m] = stored{narrow: true, base: f.base}
		}
	}
	return out
}

// narrowed finds out which columns of a window on the device can be stored in fewer bytes,
// for which the host waits for the upload.
func (w *divider) narrowed(ctx context.Context, of window, half int) error {
	host := of.division.windows[of.index]
	candidates := w.shared.candidates(of.side, of.division)
	if len(candidates) == 0 {
		return nil
	}
	out, st := &w.out[half], w.main
	if err := st.Memset(out.ranges, 0, w.ranges); err != nil {
		return err
	}
	k, err := w.e.Device().kernels.Kernel("gj_divide_range")
	if err != nil {
		return err
	}
	rows := of.view.Rows()
	for i, m := range candidates {
		c, err := of.view.Column(ctx, of.moved[m].column)
		if err != nil {
			return err
		}
		d := rangeDescriptor{Values: uint64(c.Values), Rows: uint64(rows), Greatest: uint64(out.ranges) + uint64(i)*rangeBytes}
		if err := k.Launch(st, k.Grid((rows+int64(k.Rows)-1)/int64(k.Rows)), d.Values, d.Rows, d.Greatest); err != nil {
			return err
		}
	}
	found := w.part(half, w.bytes+countsBytes, w.ranges)
	if err := st.CopyOut(found, out.ranges); err != nil {
		return err
	}
	if err := st.Record(out.ranged); err != nil {
		return err
	}
	w.e.Main().Spend(joincore.DeviceWork{Launches: len(candidates), Syncs: 1, Bytes: int64(len(candidates)) * rows * wideBytes})
	if err := out.ranged.Sync(ctx); err != nil {
		return err
	}
	host.stored = w.shared.choose(of.side, of.division, candidates, found)
	return nil
}
