package main

import "gpujoin/joincore/device"

// reading is how simulated devices get their inputs: they read them where they are, whatever the
// worker's flag --transfer-method demands.
type reading struct{ demanded string }

const method = "zero-copy"

const noMethod = "simulated devices read inputs where they are"

// TransferMethods implements device.Transferring.
func (reading) TransferMethods() []device.TransferMethod {
	return []device.TransferMethod{{Name: "staged", Reason: noMethod}, {Name: "pinned", Reason: noMethod}, {Name: method}}
}

// TransferReason is what package exec asks a device.
func (r reading) TransferReason() string {
	if r.demanded == "" || r.demanded == "auto" || r.demanded == method {
		return ""
	}
	return "not " + r.demanded + ": " + noMethod
}
