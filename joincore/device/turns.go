package device

import "context"

// Turns shares the machine's cores among executions: a goroutine of an execution
// works only while it holds a turn, from Enter to Leave. It gives the turn up before
// it waits for anything but the CPU, such as another goroutine of its execution or a
// sink.
//
// A goroutine whose ctx is done gets a turn at once, because it only has to clean up.
// All methods are safe for concurrent use.
type Turns interface {
	// Enter waits for a turn.
	Enter(ctx context.Context)
	// Yield, called by a goroutine that holds a turn about every 100 µs of work, passes
	// the turn to waiting goroutines with precedence and waits for a new one. Without
	// such goroutines it costs next to nothing.
	Yield(ctx context.Context)
	// Leave gives up the turn.
	Leave()
}

// Unlimited gives every goroutine a turn at once.
type Unlimited struct{}

func (Unlimited) Enter(context.Context) {}
func (Unlimited) Yield(context.Context) {}
func (Unlimited) Leave()                {}

// Turn returns o's Turns, or Unlimited.
func (o *Options) Turn() Turns {
	if o.Turns == nil {
		return Unlimited{}
	}
	return o.Turns
}
