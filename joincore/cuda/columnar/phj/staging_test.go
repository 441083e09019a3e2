//go:build cuda

package phj

import (
	"context"
	"testing"

	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	suite "gpujoin/testsupport/columnartest"
)

// Descriptors of any number and size arrive, also after others have been read.
func TestDescriptorsOfAnySize(t *testing.T) {
	r := suite.New(t, 32<<20)
	key := columnar.Column{Bytes: 4}
	empty := columnar.Join{Build: columnar.Side{Key: key}, Probe: columnar.Side{Key: key}}
	for _, sizes := range [][]int{{8, 200 << 10, 100 << 10, 8}, {1 << 20, 8, 300 << 10}, {600 << 10, 600 << 10}} {
		for _, read := range []bool{false, true} {
			r.Arena.Rewind(0)
			_, _, err := columnar.Run(context.Background(), r.Context, r.Stream, r.Arena, &empty, "test", func(ctx context.Context, b *columnar.Job) (*columnar.Output, error) {
				var at []uint64
				for k, size := range sizes {
					list := make([]uint64, size/8-1)
					for i := range list {
						list[i] = uint64(k<<32 + i)
					}
					at = append(at, b.Take(int64(size)))
					b.PutAt(at[k], columnar.BytesOf([]uint64{uint64(size)}), columnar.BytesOf(list))
					if read && k == 0 {
						if got, err := b.Rows(ctx, at[0]); err != nil || got != int64(size) {
							t.Errorf("%v: read %d, %v", sizes, got, err)
						}
					}
				}
				if _, err := b.Rows(ctx, at[0]); err != nil {
					return nil, err
				}
				for k, size := range sizes {
					got := r.Download(columnar.Column{Addr: driver.Ptr(at[k]), Bytes: 8}, int64(size/8))
					if got[0][0] != uint64(size) {
						t.Errorf("%v, descriptor %d: begins with %d", sizes, k, got[0][0])
					}
					for i, v := range got[1:] {
						if v[0] != uint64(k<<32+i) {
							t.Fatalf("%v, descriptor %d: word %d is %#x", sizes, k, i+1, v[0])
						}
					}
				}
				return &columnar.Output{}, nil
			})
			r.Must(err)
		}
	}
}
