package sidecar

// dealer decides which participant of a job gets the next result batch.
//
// A participant that holds a batch may be unable to finish it until another
// one makes progress: a parallel worker whose tuple queue is full waits for
// the leader to read it, and the leader does not read while it waits for a
// batch of its own. So no participant may have to wait until another one gives
// a batch back. The dealer keeps one batch of the window for each participant
// that holds none, those included that have not asked yet:
//
//	held + participants without a batch + participants to come <= window
//
// Taking a first batch and giving back the last one keep both sides as they
// are; a further batch is dealt only where the left side is less. With fewer
// batches than participants, the last to ask are told at once that nothing
// comes: the others take all rows.
//
// It knows neither time nor locks; its user serialises the calls.
type dealer struct {
	window  int // batches that may exist at a time
	coming  int // participants for which a batch is kept before they ask
	most    int // batches that one participant may hold
	readers []*reader
}

// reader is a participant as its dealer sees it, from its first NEXT on.
type reader struct {
	credits uint64 // batches that it may be sent
	held    int    // batches that it was sent and has not given back
	state   readerState
}

type readerState int

const (
	readerAsking   readerState = iota // whether it gets rows is not decided
	readerAdmitted                    // a batch is kept for it while it holds none
	readerEnded                       // it gets no more
)

// open says how many batches may exist at a time, at least one, and how many
// participants are expected. Nothing is decided before.
func (d *dealer) open(window, participants int) {
	d.window = window
	d.coming = min(participants, window)
	d.most = max(1, window/max(1, participants))
}

// join adds a participant that asks for the first time.
func (d *dealer) join() *reader {
	r := &reader{}
	d.readers = append(d.readers, r)
	return r
}

// admit decides about those that have asked for the first time, in their
// order, and returns those that get no rows, which have ended.
func (d *dealer) admit() (ended []*reader) {
	for _, r := range d.readers {
		if r.state != readerAsking {
			continue
		}
		switch {
		case d.coming > 0:
			d.coming--
			r.state = readerAdmitted
		case d.spare() > 0:
			r.state = readerAdmitted
		default:
			r.state = readerEnded
			ended = append(ended, r)
		}
	}
	return ended
}

// spare returns how many batches are neither held nor kept for a participant
// that holds none.
func (d *dealer) spare() int {
	n := d.window - d.coming
	for _, r := range d.readers {
		switch {
		case r.held > 0:
			n -= r.held
		case r.state == readerAdmitted:
			n--
		}
	}
	return n
}

// next takes a credit of the participant that is to get a batch which is
// ready, of those that hold the fewest, and counts the batch as held. nil: it
// has to wait until one asks or gives back.
func (d *dealer) next() *reader {
	var best *reader
	for _, r := range d.readers {
		if r.state == readerAdmitted && r.credits > 0 && r.held < d.most && (best == nil || r.held < best.held) {
			best = r
		}
	}
	if best == nil || best.held > 0 && d.spare() < 1 {
		return nil
	}
	best.credits--
	best.held++
	return best
}

// back notes that a participant has given back one batch.
func (d *dealer) back(r *reader) { r.held-- }

// end ends all participants, as no batch is left, and returns those that did
// not know.
func (d *dealer) end() (ended []*reader) {
	for _, r := range d.readers {
		if r.state != readerEnded {
			r.state = readerEnded
			ended = append(ended, r)
		}
	}
	return ended
}

// leave takes off a participant that is gone, with all that it held.
func (d *dealer) leave(r *reader) {
	for i, o := range d.readers {
		if o == r {
			d.readers = append(d.readers[:i], d.readers[i+1:]...)
			return
		}
	}
}
