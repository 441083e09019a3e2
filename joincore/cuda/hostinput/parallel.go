package hostinput

import (
	"sync"
	"sync/atomic"

	"gpujoin/joincore/device"
)

// Each calls work for each of n segments, on at most the given number of cores.
func Each(n, cores int, work func(i int)) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(cores, n))
	for worker := range errs {
		wait.Go(func() {
			defer device.Recover(&errs[worker])
			device.PanicOnFault()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is the number of bytes that are worth a goroutine.
const piece = 1 << 20

// InPieces splits work on [0, n) among several cores if that pays: a single
// core copies more slowly than the PCIe or NVLink connection.
func InPieces(n int, work func(low, high int) error) error {
	if n <= piece {
		return work(0, n)
	}
	var wait sync.WaitGroup
	errs := make([]error, (n+piece-1)/piece)
	for i := range errs {
		wait.Go(func() {
			defer device.Recover(&errs[i])
			device.PanicOnFault()
			errs[i] = work(i*piece, min((i+1)*piece, n))
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
