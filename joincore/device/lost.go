package device

import "errors"

// sticky is an error after which a device no longer works.
type sticky interface {
	error
	Sticky() bool
}

// losable is a provider that can tell whether its device still works.
type losable interface {
	// Lost returns the error by which the device was lost, or nil.
	Lost() error
}

// Lost returns the error by which p's device was lost, or nil. err is the error of an
// execution on p. Only a new process recovers from a loss.
func Lost(p Provider, err error) error {
	if l, ok := p.(losable); ok {
		if lost := l.Lost(); lost != nil {
			return lost
		}
	}
	var s sticky
	if errors.As(err, &s) && s.Sticky() {
		return err
	}
	return nil
}
