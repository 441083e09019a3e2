//go:build cuda

package driver

import (
	"gorgonia.org/cu"
)

// Info describes a device.
type Info struct {
	Ordinal        int
	Name, UUID     string
	Major, Minor   int   // compute capability
	SMs            int   // multiprocessors
	Memory         int64 // bytes
	L2             int64 // bytes
	MemoryGBps     int   // of device memory, by its clock and width; 0: unknown
	SharedOptin    int   // the most bytes of shared memory that a block may use
	PageableAccess bool  // the device reads and writes any host memory coherently
	HostRegister   bool  // host memory can be page-locked after its allocation
	VMM            bool  // supports the virtual memory API
	Driver         int   // the CUDA version that the driver supports: 1000 major + 10 minor
	PCI            string
}

// Devices describes the devices visible to this process.
func Devices() ([]Info, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return nil, wrap("cuDeviceGetCount", err)
	}
	out := make([]Info, 0, n)
	for i := range n {
		info, err := describe(i)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func describe(ordinal int) (Info, error) {
	info := Info{Ordinal: ordinal, Driver: cu.Version()}
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return info, wrap("cuDeviceGet", err)
	}
	if info.Name, err = d.Name(); err != nil {
		return info, wrap("cuDeviceGetName", err)
	}
	id, err := d.UUID()
	if err != nil {
		return info, wrap("cuDeviceGetUuid", err)
	}
	info.UUID = "GPU-" + id.String()
	if info.Memory, err = d.TotalMem(); err != nil {
		return info, wrap("cuDeviceTotalMem", err)
	}
	if info.PCI, err = busID(ordinal); err != nil {
		return info, err
	}
	var l2, kilohertz, bits, pageable, register, virtual int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{computeMajor, &info.Major}, {computeMinor, &info.Minor}, {multiprocessor, &info.SMs}, {l2Bytes, &l2}, {cu.MemoryClockRate, &kilohertz}, {cu.GlobalMemoryBusWidth, &bits},
		{sharedOptin, &info.SharedOptin}, {pageableAccess, &pageable}, {hostRegister, &register}, {virtualMemory, &virtual},
	} {
		if *a.to, err = d.Attribute(a.attribute); err != nil {
			return info, wrap("cuDeviceGetAttribute", err)
		}
	}
	info.L2, info.MemoryGBps = int64(l2), 2*kilohertz/8*bits/1e6 // two transfers a cycle
	info.PageableAccess, info.HostRegister, info.VMM = pageable != 0, register != 0, virtual != 0
	return info, nil
}
