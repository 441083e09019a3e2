// Package child implements the worker process, which the daemon starts to
// execute joins on devices that need their own libraries or failure domain. It
// serves any device.Provider.
//
// The worker owns no lasting state. Rows are in extents, which the daemon
// passes once; the worker keeps them mapped, and registered with the devices,
// until the daemon drops them. The worker books its private memory with the
// daemon before it maps it, so that one budget covers both processes. It exits
// when the daemon does, and when a device is lost, because only a new process
// can recover the device.
package child
