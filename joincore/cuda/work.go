//go:build cuda

package cuda

import (
	"gpujoin/joincore"
	"gpujoin/joincore/cuda/rowid"
)

// workSince returns what the steps of the main queue have cost since then.
func (e *execution) workSince(before rowid.Cost) joincore.DeviceWork {
	now := e.workspace.main.Cost()
	return joincore.DeviceWork{
		Launches: now.Launches - before.Launches, Syncs: now.Syncs - before.Syncs, Bytes: now.Bytes - before.Bytes, Peak: e.workspace.arena.Peak(),
	}
}

// addWork adds what one part of a join has asked of the device to that of others.
func addWork(to *joincore.DeviceWork, w joincore.DeviceWork) {
	to.Launches += w.Launches
	to.Syncs += w.Syncs
	to.Bytes += w.Bytes
	to.Peak = max(to.Peak, w.Peak)
}
