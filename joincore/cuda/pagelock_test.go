package cuda

import (
	"errors"
	"testing"
)

// lockable is a variable, because a stack moves when it grows, and page locks know memory
// by its address.
var lockable = make([]byte, 100)

// TestMemoryIsPageLockedOnce: of several providers that register a piece the
// first one locks it, and the last one to release it unlocks it.
func TestMemoryIsPageLockedOnce(t *testing.T) {
	var l pageLocks
	mem := lockable
	held, locks := 0, 0
	lock := func() (func(), error) {
		held, locks = held+1, locks+1
		return func() { held-- }, nil
	}
	var releases []func()
	for range 3 {
		release, err := l.take(mem[:50], lock)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	other, err := l.take(mem[50:], lock)
	if err != nil || locks != 2 {
		t.Fatalf("%d locks of 2 pieces, %v", locks, err)
	}
	for i, release := range releases {
		if held != 2 {
			t.Errorf("%d pieces are locked before release %d", held, i)
		}
		release()
	}
	if held != 1 {
		t.Errorf("%d pieces are locked, one is in use", held)
	}
	other()
	refused := errors.New("refused")
	if _, err := l.take(mem, func() (func(), error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	if release, err := l.take(mem, lock); err != nil || held != 1 { // a refusal is not remembered
		t.Errorf("%d pieces are locked, %v", held, err)
	} else {
		release()
	}
	if held != 0 || len(l.pieces) != 0 {
		t.Errorf("%d pieces are locked, %d known", held, len(l.pieces))
	}
}
