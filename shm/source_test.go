package shm

import (
	"bytes"
	"errors"
	"testing"
)

// TestSource: requests on foreign servers and their answers are what was sent; other lengths
// and kinds are refused.
func TestSource(t *testing.T) {
	get := AppendSourceGet(nil, SourceSize, []byte(`{"a":1}`))
	if f, err := ParseFrame(get); err != nil || f.Type != MsgSourceGet || int(f.Length) != len(get)-FrameSize {
		t.Errorf("%+v, %v", f, err)
	}
	if kind, json, err := DecodeSourceGet(get[FrameSize:]); err != nil || kind != SourceSize || string(json) != `{"a":1}` {
		t.Errorf("%d, %q, %v", kind, json, err)
	}
	answer := AppendSource(nil, SourceClose, []byte(`{}`))
	if kind, json, err := DecodeSource(answer[FrameSize:]); err != nil || kind != SourceClose || string(json) != `{}` {
		t.Errorf("%d, %q, %v", kind, json, err)
	}
	for _, kind := range []SourceKind{0, SourceClose + 1} {
		if _, _, err := DecodeSourceGet(AppendSourceGet(nil, kind, nil)[FrameSize:]); !errors.Is(err, ErrSource) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	if _, _, err := DecodeSource(answer[FrameSize : len(answer)-1]); !errors.Is(err, ErrSource) {
		t.Errorf("a byte less: %v", err)
	}
}

func FuzzSource(f *testing.F) {
	f.Add(AppendSourceGet(nil, SourcePin, []byte(`{}`))[FrameSize:])
	f.Fuzz(func(t *testing.T, b []byte) {
		b = clip(b)
		if kind, json, err := DecodeSourceGet(b); err == nil && !bytes.Equal(AppendSourceGet(nil, kind, json)[FrameSize:], b) {
			t.Fatal("a request changed on the way")
		}
		if kind, json, err := DecodeSource(b); err == nil && !bytes.Equal(AppendSource(nil, kind, json)[FrameSize:], b) {
			t.Fatal("an answer changed on the way")
		}
	})
}
