package links

import (
	"time"

	"gpujoin/joincore/mesh"
)

// Host is the end of a connection that is no device.
const Host = -1

// Connection is one direction between two devices, or a device and the host, as users see
// it.
type Connection struct {
	From, To int           // numbers in Facts.Devices, or Host
	Kind     string        // a mesh.Kind, or "staged"
	Direct   bool          // copies do not pass through host memory, except those of the host
	GBps     float64       // 10^9 bytes a second of large copies; 0: not measured
	Latency  time.Duration // of a small copy; 0: not measured
	Note     string        // what is missing; "": nothing
}

// Connections lists those from and to the host by device, then those between devices.
func (f *Facts) Connections() (list []Connection) {
	for i, d := range f.Devices {
		list = append(list,
			Connection{From: Host, To: i, Kind: mesh.PCIe.String(), Direct: true, GBps: d.ToDevice},
			Connection{From: i, To: Host, Kind: mesh.PCIe.String(), Direct: true, GBps: d.ToHost})
	}
	b := meshBuilder{facts: f}
	for _, p := range f.Pairs {
		c := Connection{From: p.From, To: p.To, Direct: p.Peer, Latency: p.Latency}
		c.GBps, _ = fitLine(p.Sizes)
		switch {
		case !p.Peer:
			c.Kind, c.Note = "staged", "the driver refuses access to the other device's memory: copies pass through host memory"
		case p.NVLinks > 0:
			c.Kind = mesh.NVLink.String()
		case b.spare(p.From) > 0 && b.spare(p.To) > 0:
			c.Kind = mesh.NVSwitch.String()
		default:
			c.Kind = mesh.PCIe.String()
		}
		if c.GBps == 0 && c.Note == "" {
			c.Note = "not measured"
		}
		list = append(list, c)
	}
	return list
}
