package outofcore

import (
	"context"
	"sync"

	"gpujoin/joincore/device"
)

// Stages calls work for stages 0 to n-1 one after the other. Meanwhile fetch gets what
// the next stage needs; what fails there has to fail again in work.
func Stages(ctx context.Context, n int, fetch func(ctx context.Context, i int), work func(i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	defer ahead.Wait()
	defer stop()
	start := func(i int) {
		if i == n {
			return
		}
		ahead.Go(func() {
			var unread error // what fails here fails again when it is needed
			defer device.Recover(&unread)
			device.PanicOnFault()
			fetch(ctx, i)
		})
	}
	start(0)
	for i := range n {
		ahead.Wait()
		start(i + 1)
		if err := work(i); err != nil {
			return err
		}
	}
	return nil
}
