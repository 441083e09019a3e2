// Package hostinput reads base inputs where they lie in host memory. An input's
// rows are numbered through its segments; readers fetch values by that number and
// write them into batches. Values of variable length and widths that no kernel
// moves reach results only this way.
//
// Parallel loops over an input run by Each and InPieces. They turn a panic and a
// fault in mapped memory into an error: the memory belongs to another process,
// which may truncate it.
package hostinput

import (
	"context"

	"gpujoin/joincore/device"
)

// Each calls work for each of n segments, on at most the given number of cores.
func Each(n, cores int, work func(i int)) error {
	segments := device.NewTasks(n)
	return device.Workers(context.Background(), min(cores, n), func(ctx context.Context, _ int) error {
		for i := range segments.Deal(ctx, device.Unlimited{}) {
			work(i)
		}
		return nil
	})
}

// piece is the number of bytes that are worth a goroutine.
const piece = 1 << 20

// InPieces splits work on [0, n) among several cores if that pays: a single
// core copies more slowly than the PCIe or NVLink connection.
func InPieces(n int, work func(low, high int)) error {
	if n <= piece {
		work(0, n)
		return nil
	}
	pieces := (n + piece - 1) / piece
	return Each(pieces, pieces, func(i int) { work(i*piece, min((i+1)*piece, n)) })
}
