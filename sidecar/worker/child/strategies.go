package child

import (
	"gpujoin/joincore/costmodel"
	"gpujoin/joincore/device"
	"gpujoin/joincore/multi"
	"gpujoin/sidecar/worker/control"
)

// methods returns by which methods inputs can be transferred to a device, and why not by the others;
// none of a device that reads the memory of the host.
func (m *Machine) methods(number int) (list []*control.Strategy) {
	if p, ok := m.Devices[number].Provider.(device.Transferring); ok {
		for _, t := range p.TransferMethods() {
			list = append(list, &control.Strategy{Name: t.Name, Reason: t.Reason})
		}
	}
	return list
}

// strategies returns by which strategies a job that enters a device can be executed if all devices
// are idle, and why not by the others. What depends on the job is not looked at.
func (m *Machine) strategies(device int) (list []*control.Strategy) {
	idle := []int{device}
	for d := range m.Devices {
		if d != device {
			idle = append(idle, d)
		}
	}
	set := m.Jobs.best(idle, m.Jobs.atMost(idle))
	for _, how := range costmodel.Executed() {
		reason := multi.Unable(m.providers(set), how)
		if reason != "" && how.Fewest() > len(set) && len(idle) > 1 {
			reason = "each job has one device (cuda_devices)"
		}
		s := &control.Strategy{Name: how.String(), Reason: reason}
		if reason == "" {
			s.Note = throughHost(multi.Staged(m.providers(set), how))
		}
		list = append(list, s)
	}
	return list
}
