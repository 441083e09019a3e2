//go:build cuda

package rowid

import (
	"context"
	"fmt"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/device"
)

// KeyBytes returns the bytes of a normalised key: 4 or 8.
func KeyBytes(key *device.Key) int { return 4 * keyWords(key) }

// Keyed writes the numbers of the rows of s whose key has no NULL part, in order, to
// out, which has space for all rows. It uses memory of the arena until it is done.
func (q *Queue) Keyed(ctx context.Context, s Side, key *device.Key, out driver.Ptr) (*Count, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	parts, _, err := partsOf(s, key)
	if err != nil {
		return nil, err
	}
	total, err := q.upload(ctx, uint64(0))
	if err != nil {
		return nil, err
	}
	if parts != nil {
		list, err := q.upload(ctx, parts)
		if err != nil {
			return nil, err
		}
		if err := q.selectRows("gj_select_keyed", s.Rows, out, total, uint64(list), uint64(len(parts))); err != nil {
			return nil, err
		}
		q.cost.Bytes += s.Rows * int64(4+len(parts))
	}
	return q.count(ctx, total)
}

// Keys writes the normalised keys of all rows of s to out, KeyBytes each. The key must
// be exact, and no row's key NULL.
func (q *Queue) Keys(ctx context.Context, s Side, key *device.Key, out driver.Ptr) error {
	if err := s.check(); err != nil {
		return err
	}
	parts, _, err := partsOf(s, key)
	if err != nil {
		return err
	}
	if parts == nil || !key.Exact {
		return fmt.Errorf("keys that are hashes, or that no row has, are no column: %w", joincore.ErrUnsupported)
	}
	list, err := q.upload(ctx, parts)
	if err != nil {
		return err
	}
	count, err := q.upload(ctx, uint64(s.Rows))
	if err != nil {
		return err
	}
	at, err := q.upload(ctx, keysDescriptor{Count: uint64(count), Parts: uint64(list), PartCount: uint64(len(parts)), Exact: 1, Out: uint64(out)})
	if err != nil {
		return err
	}
	q.cost.Bytes += s.Rows * int64(KeyBytes(key))
	for _, p := range parts {
		q.cost.Bytes += s.Rows * int64(p.Column.Width)
	}
	return q.launch(fmt.Sprintf("gj_normalise_k%d", keyWords(key)), s.Rows/rowsPerBlock+1, uint64(at))
}
