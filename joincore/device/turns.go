package device

import "context"

// Turns shares the machine's cores among executions: a goroutine of an
// execution works only while it has a turn. It has one from Enter to Leave,
// and gives it up before it waits for anything but the machine: another
// goroutine of its execution, or a sink.
//
// A goroutine whose ctx is done gets its turn at once, for it has only to
// clean up. All methods may be called by several goroutines.
type Turns interface {
	// Enter waits for a turn.
	Enter(ctx context.Context)
	// Yield, by a goroutine that has a turn, lets others have it that should
	// go first, and waits for another one. It costs nearly nothing where there
	// are none, and is called about every 100 µs of work.
	Yield(ctx context.Context)
	// Leave gives the turn up.
	Leave()
}

// Unlimited has a turn for everybody.
type Unlimited struct{}

func (Unlimited) Enter(context.Context) {}
func (Unlimited) Yield(context.Context) {}
func (Unlimited) Leave()                {}

// Turn returns the turns of o.
func (o *Options) Turn() Turns {
	if o.Turns == nil {
		return Unlimited{}
	}
	return o.Turns
}
