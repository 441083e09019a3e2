package foreign

import (
	"context"
	"encoding/json"
	"sync"

	"gpujoin/sidecar/mirror"
)

// Sources are the sessions with all foreign servers. They are safe for concurrent use.
type Sources struct {
	memory  mirror.Memory
	options Options

	mu   sync.Mutex
	pins map[string]*Pin
}

// New returns sources without sessions. Their mirrors take memory from m.
func New(m mirror.Memory, o Options) *Sources {
	return &Sources{memory: m, options: o, pins: map[string]*Pin{}}
}

// Close ends all sessions. Pins must have been released.
func (s *Sources) Close() {}

// Kind is what a request asks for: enum gj_source_kind of shm/source.h.
type Kind uint32

// Kinds.
const (
	KindPin Kind = iota + 1
	KindUnpin
	KindMirror
	KindUnmirror
	KindImport
	KindMirrors
	KindSize
	KindCheck
	KindClose
)

// Handle answers a request: JSON to JSON. It returns early, with an error, when ctx ends.
func (s *Sources) Handle(ctx context.Context, from Peer, kind Kind, body []byte) []byte {
	answer, _ := json.Marshal(map[string]any{"error": map[string]string{ // of strings, which cannot fail
		"sqlstate": "0A000", "message": "this request is not supported", "detail": "", "hint": ""}})
	return answer
}

// Owner holds the pins of one connection.
type Owner struct {
	mu     sync.Mutex
	pins   map[string]*Pin
	closed bool
}

// Close releases the pins. A pin that is made afterwards is released at once.
func (o *Owner) Close() {
	o.mu.Lock()
	pins := o.pins
	o.pins, o.closed = nil, true
	o.mu.Unlock()
	for _, p := range pins {
		p.Release()
	}
}
