package child

import (
	"cmp"
	"slices"

	"gpujoin/joincore"
	"gpujoin/joincore/exec"
	"gpujoin/joincore/textcodes"
	"gpujoin/sidecar/worker/control"
)

// columnKeeper is a provider on whose device columns stay from one job to the next.
type columnKeeper interface {
	// Drop forgets contents (joincore.Vector) that are gone.
	Drop(contents []uint64)
	// Holds reports whether rows of a content stay on the device.
	Holds(content uint64) bool
	// Resident returns the bytes of what stays there.
	Resident() int64
	// ResidentLimit returns how many bytes may stay there.
	ResidentLimit() int64
	// ContentsVersion returns a number, not 0, that grows when Contents visits others.
	ContentsVersion() uint64
	// Contents visits the contents that stay there, with the bytes of each.
	Contents(visit func(content uint64, bytes int64))
}

// eachKeeper calls f with the providers on whose devices columns stay.
func (s *server) eachKeeper(f func(columnKeeper)) {
	for _, q := range s.queues {
		if k, ok := q.Provider.(columnKeeper); ok {
			f(k)
		}
	}
}

// drop forgets contents that are gone.
func (s *server) drop(contents []uint64) {
	if len(contents) > 0 {
		if s.memo != nil {
			s.memo.Drop(contents)
		}
		s.eachKeeper(func(k columnKeeper) { k.Drop(contents) })
	}
}

// contents returns what stays on the devices, nil if the daemon has that version.
func (s *server) contents(version uint64) *control.Contents {
	now := uint64(0)
	s.eachKeeper(func(k columnKeeper) { now += k.ContentsVersion() })
	if now == version || now == 0 {
		return nil
	}
	bytes := map[uint64]int64{}
	s.eachKeeper(func(k columnKeeper) {
		k.Contents(func(content uint64, n int64) {
			if content < textcodes.Derived {
				bytes[content] += n
			}
		})
	})
	return control.EncodeContents(now, bytes)
}

// residentOn returns what tells whether one of some devices has a content.
func (m *Machine) residentOn(set []int) func(content uint64) bool {
	var list []columnKeeper
	for _, d := range set {
		if k, ok := m.Devices[d].Provider.(columnKeeper); ok {
			list = append(list, k)
		}
	}
	return func(content uint64) bool {
		for _, k := range list {
			if k.Holds(content) {
				return true
			}
		}
		return false
	}
}

// staysOn returns how many bytes of columns may stay on a device.
func (m *Machine) staysOn(device int) int64 {
	if k, ok := m.Devices[device].Provider.(columnKeeper); ok {
		return k.ResidentLimit()
	}
	return 0
}

// leastLoaded returns the queue that is shortest, of several the one whose device has most of the
// inputs.
func (s *server) leastLoaded(inputs []*joincore.Relation) *deviceQueue {
	least := slices.MinFunc(s.queues, func(a, b *deviceQueue) int { return cmp.Compare(a.load(), b.load()) })
	best, most, load := least, int64(-1), least.load()
	if len(s.queues) == 1 {
		return least
	}
	for _, q := range s.queues {
		if q.load() > load {
			continue
		}
		if n := q.has(inputs); n > most {
			best, most = q, n
		}
	}
	return best
}

// has returns about how many rows' values of some inputs are on a queue's device.
func (q *deviceQueue) has(inputs []*joincore.Relation) (values int64) {
	k, ok := q.Provider.(columnKeeper)
	if !ok || k.Resident() == 0 {
		return 0
	}
	for _, r := range inputs {
		step := 1 + len(r.Segments)/exec.Sampled
		for i := 0; i < len(r.Segments); i += step {
			for j := range r.Segments[i].Columns {
				if c := r.Segments[i].Columns[j].Content; c != 0 && k.Holds(c) {
					values += int64(r.Segments[i].Rows * step)
				}
			}
		}
	}
	return values
}
