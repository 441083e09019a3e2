// Package server is the worker process, which the daemon starts to execute joins
// on devices that need libraries or failure domains of their own. It serves any
// device.Provider.
//
// It owns nothing that lasts. Rows lie in extents, which the daemon gives it
// once and which it keeps mapped, and registered with the devices, until the
// daemon drops them. Memory of its own is booked with the daemon before it is
// mapped, so that one budget holds for both. It ends when the daemon does, and
// when a device is lost, because nothing else brings that device back.
package server
