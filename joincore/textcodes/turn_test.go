package textcodes_test

import (
	"context"
	"sync"
)

// oneTurn lets one goroutine work at a time.
type oneTurn struct{ sync.Mutex }

func (t *oneTurn) Enter(context.Context) { t.Lock() }
func (t *oneTurn) Yield(context.Context) {}
func (t *oneTurn) Leave()                { t.Unlock() }
