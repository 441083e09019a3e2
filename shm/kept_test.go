package shm

import (
	"errors"
	"reflect"
	"testing"
)

// TestKeptMessages: lists arrive as they were sent, and a message that contradicts
// itself is refused.
func TestKeptMessages(t *testing.T) {
	groups := []Group{{LSN: 8, Visible: Bitmap{5}}, {Visible: Bitmap{1}}}
	leaf := &Leaf{Groups: groups, Attnums: []int16{3, 1}, Name: "a.b"}
	pages := AppendPages(nil, &Pages{Blocks: GroupBlocks + 1, Flushed: 9}, leaf)[FrameSize:]
	if p, got, err := DecodePages(pages); err != nil || p.Groups != 2 || p.Columns != 2 || !reflect.DeepEqual(got, leaf) {
		t.Errorf("%+v, %v", p, err)
	}
	states := []GroupState{GroupMixed, GroupKept}
	two := []KeptLeaf{{Relation: 5, Blocks: GroupBlocks}, {Relation: 6, Blocks: 1, Capture: 1}}
	kept := AppendKept(nil, &Kept{Mode: FeedKept}, two, states)[FrameSize:]
	if k, leaves, got, err := DecodeKept(kept); err != nil || k.Groups != 2 || !reflect.DeepEqual(leaves, two) || !reflect.DeepEqual(got, states) {
		t.Errorf("%+v, %v", k, err)
	}
	lsns := []uint64{3, 1 << 40}
	blocks := AppendBlocks(nil, &Blocks{Kept: Bitmap{1}, Prove: Bitmap{4, 1}}, lsns)[FrameSize:]
	if b, got, err := DecodeBlocks(blocks); err != nil || b.LSNs != 2 || !reflect.DeepEqual(got, lsns) {
		t.Errorf("%+v, %v", b, err)
	}
	list := []CapturedBlock{{LSN: 1, Block: 2}, {Block: 5, FirstRow: 3}, {Block: 6, FirstRow: 3}}
	captured := AppendCaptured(nil, &Captured{Rows: 4}, list)[FrameSize:]
	if c, got, err := DecodeCaptured(captured); err != nil || c.Blocks != 3 || !reflect.DeepEqual(got, list) {
		t.Errorf("%+v, %v", c, err)
	}
	forget := AppendForget(nil, &Forget{Tablespace: 1, File: 2}, "a.b")[FrameSize:]
	if f, name, err := DecodeForget(forget); err != nil || f != (Forget{1, 2, 3, 0}) || name != "a.b" {
		t.Errorf("%+v, %q, %v", f, name, err)
	}

	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrKept) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, body := range map[string][]byte{
		"a page that is cut off":        pages[:GroupBitmap],
		"a name that is cut off":        pages[:len(pages)-1],
		"too few pages":                 AppendPages(nil, &Pages{Blocks: GroupBlocks + 1}, &Leaf{Groups: groups[:1]})[FrameSize:],
		"a visible block after the end": AppendPages(nil, &Pages{Blocks: 2}, &Leaf{Groups: groups[:1]})[FrameSize:],
		"an empty table":                AppendPages(nil, &Pages{}, &Leaf{})[FrameSize:],
		"a flag without a meaning":      AppendPages(nil, &Pages{Blocks: 8, Flags: 4}, &Leaf{Groups: groups[:1]})[FrameSize:],
		"a column without a number":     AppendPages(nil, &Pages{Blocks: 8}, &Leaf{Groups: groups[:1], Attnums: []int16{1, 0}})[FrameSize:],
		"a system column":               AppendPages(nil, &Pages{Blocks: 8}, &Leaf{Groups: groups[:1], Attnums: []int16{-1}})[FrameSize:],
		"too long a name":               AppendPages(nil, &Pages{Blocks: 8}, &Leaf{Groups: groups[:1], Name: string(make([]byte, MaxText+1))})[FrameSize:],
		"too large a table":             AppendPages(nil, &Pages{Blocks: MaxGroups*GroupBlocks + 1}, &Leaf{Groups: make([]Group, MaxGroups+1)})[FrameSize:],
	} {
		_, _, err := DecodePages(body)
		refused(what, err)
	}
	one := []KeptLeaf{{Blocks: 1}}
	for what, body := range map[string][]byte{
		"too many states":           AppendKept(nil, &Kept{Mode: FeedKept}, one, states)[FrameSize:],
		"too few states":            AppendKept(nil, &Kept{Mode: FeedKept}, two, states[:1])[FrameSize:],
		"states without need":       AppendKept(nil, &Kept{}, one, states[:1])[FrameSize:],
		"no leaf":                   AppendKept(nil, &Kept{Mode: FeedKept}, nil, nil)[FrameSize:],
		"an unknown state":          AppendKept(nil, &Kept{Mode: FeedKept}, one, []GroupState{3})[FrameSize:],
		"an empty leaf":             AppendKept(nil, &Kept{Mode: FeedKept}, []KeptLeaf{{}}, nil)[FrameSize:],
		"a capture behind the leaf": AppendKept(nil, &Kept{Mode: FeedKept}, []KeptLeaf{{Blocks: 1, Capture: 2}}, states[:1])[FrameSize:],
		"leaves that are cut off":   kept[:20],
		"too many groups": AppendKept(nil, &Kept{Mode: FeedKept}, []KeptLeaf{{Blocks: MaxInputGroups*GroupBlocks + 1}},
			make([]GroupState, MaxInputGroups+1))[FrameSize:],
	} {
		_, _, _, err := DecodeKept(body)
		refused(what, err)
	}
	_, _, err := DecodeBlocks(blocks[:len(blocks)-8])
	refused("too few LSNs", err)
	_, _, err = DecodeBlocks(AppendBlocks(nil, &Blocks{Prove: Bitmap{1}}, lsns)[FrameSize:])
	refused("too many LSNs", err)
	_, _, err = DecodeBlocks(AppendBlocks(nil, &Blocks{Kept: Bitmap{1}, Prove: Bitmap{1}}, lsns[:1])[FrameSize:])
	refused("a block that is served and to be proved", err)
	_, _, err = DecodeForget(forget[:len(forget)-1])
	refused("a name that is cut off", err)
	for what, list := range map[string][]CapturedBlock{
		"no block":                     {},
		"rows of no block":             {{FirstRow: 1}},
		"a block twice":                {{Block: 1}, {Block: 1, FirstRow: 1}},
		"rows in another order":        {{Block: 1}, {Block: 2, FirstRow: 3}, {Block: 3, FirstRow: 2}},
		"a row that is not in a batch": {{Block: 1}, {Block: 2, FirstRow: 5}},
	} {
		_, _, err = DecodeCaptured(AppendCaptured(nil, &Captured{Rows: 4}, list)[FrameSize:])
		refused(what, err)
	}
}

// TestBitmap: bits are counted and bounded at every position.
func TestBitmap(t *testing.T) {
	for _, at := range []int{0, 1, 7, 8, GroupBlocks - 1, 8*GroupBitmap - 1} {
		var m Bitmap
		m[at/8] = 1 << (at % 8)
		if m.Within(at) || !m.Within(at+1) || m.Count() != 1 {
			t.Errorf("bit %d", at)
		}
	}
	for _, c := range []struct{ blocks, groups, last int }{
		{0, 0, 0}, {1, 1, 1}, {GroupBlocks, 1, GroupBlocks}, {GroupBlocks + 1, 2, 1}, {1<<32 - 1, 131458, 4191},
	} {
		if n := Groups(uint32(c.blocks)); n != c.groups || n > 0 && GroupLength(uint32(c.blocks), n-1) != c.last {
			t.Errorf("%d blocks: %d groups, the last one of %d", c.blocks, n, GroupLength(uint32(c.blocks), n-1))
		}
	}
}
