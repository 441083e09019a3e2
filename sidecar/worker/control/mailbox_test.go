package control

import (
	"errors"
	"slices"
	"testing"
)

// TestMailbox: what is put in while a message is under way leaves in one.
func TestMailbox(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var sent [][]uint64
	m := NewMailbox(func(f *FromWorker) error {
		entered <- struct{}{}
		<-leave
		sent = append(sent, f.Discarded)
		if len(sent) == 2 {
			return errors.New("closed")
		}
		return nil
	})
	put := func(n uint64) { m.Put(func(f *FromWorker) { f.Discarded = append(f.Discarded, n) }) }
	put(1)
	<-entered
	put(2)
	put(3)
	leave <- struct{}{}
	<-entered
	put(4) // never leaves
	leave <- struct{}{}
	if err := m.Flush(); err == nil {
		t.Error("the error is lost")
	}
	put(5)
	if err := m.Flush(); err == nil || len(sent) != 2 || !slices.Equal(sent[0], []uint64{1}) || !slices.Equal(sent[1], []uint64{2, 3}) {
		t.Errorf("%v, %v", sent, err)
	}
}
