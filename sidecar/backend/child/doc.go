// Package child is a worker: the process that the daemon starts to execute
// joins on devices which it would rather not have in its own. It serves any
// device.Provider.
//
// It owns nothing that lasts. Rows lie in extents, which the daemon gives it
// once and which it keeps mapped, and registered with the devices, until the
// daemon drops them. Memory of its own is booked with the daemon before it is
// mapped, so that one budget holds for both. It ends when the daemon does, and
// when a device is lost, because nothing else brings that device back.
package child
