package control

import (
	"errors"
	"maps"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestContents: they survive the wire, in few bytes each, and nonsense is refused.
func TestContents(t *testing.T) {
	many := map[uint64]int64{}
	for i := range uint64(1000) {
		many[1_000_000+7*i] = 100
	}
	for _, want := range []map[uint64]int64{{}, {1: 5, 2: 0, 1 << 63: math.MaxInt64}, many} {
		wire, err := proto.Marshal(EncodeContents(9, want))
		if err != nil {
			t.Fatal(err)
		}
		if len(wire) > 40+2*len(want) {
			t.Errorf("%d bytes for %d contents", len(wire), len(want))
		}
		var c Contents
		if err := proto.Unmarshal(wire, &c); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Decode(); err != nil || !maps.Equal(got, want) || c.GetVersion() != 9 {
			t.Errorf("%d contents, %v; want %d", len(got), err, len(want))
		}
	}
	for name, bad := range map[string]*Contents{
		"no version":    {Steps: []uint64{1}, Bytes: []uint64{1}},
		"bytes of none": {Version: 1, Bytes: []uint64{1}},
		"twice":         {Version: 1, Steps: []uint64{1, 0}, Bytes: []uint64{1, 1}},
		"too large":     {Version: 1, Steps: []uint64{1, math.MaxUint64}, Bytes: []uint64{1, 1}},
		"too many":      {Version: 1, Steps: []uint64{1}, Bytes: []uint64{1 << 63}},
	} {
		if _, err := bad.Decode(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
