package outofcore

import "time"

// devicesEndSooner reports whether devices, which claimed a number of windows in a time,
// partition all that are left before cores have partitioned one more, for which they take as
// long as for the one before. The devices would wait for the cores then. 0: neither is known yet.
func devicesEndSooner(left, claimed int, since, took time.Duration) bool {
	return claimed > 0 && since/time.Duration(claimed)*time.Duration(left) < took
}
