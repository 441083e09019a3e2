//go:build cuda

package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gpujoin/joincore"
	"gpujoin/joincore/cuda/columnar"
	"gpujoin/joincore/cuda/driver"
	"gpujoin/joincore/cuda/kernels"
	"gpujoin/joincore/cuda/links"
	"gpujoin/joincore/cuda/outofcore"
	"gpujoin/joincore/cuda/resident"
	"gpujoin/joincore/cuda/rowid"
	"gpujoin/joincore/device"
	"gpujoin/joincore/mesh"
	"gpujoin/joincore/program"
)

// Config selects the device of a provider and limits its use.
type Config struct {
	Ordinal int
	// Budget is the number of bytes of device memory that the provider maps at
	// once and keeps; 0 means all available memory. In any case the provider
	// maps at most nine tenths of the free memory.
	Budget int64
	// SlabBytes is the maximum number of bytes of page-locked host memory for joins
	// out of core and hybrid tables, of all providers; the first one's counts. 0 means an eighth of the
	// machine's memory, less means none.
	SlabBytes int64
	// Streams is the number of goroutines that gather results; 0 means one per
	// core, at most 8.
	Streams int
	// Peers are the ordinals of other providers' devices that may copy from the provider's
	// memory. Those that cannot access it are left out. Several providers may be on one
	// device: then its own ordinal is a peer.
	Peers []int
	// Apart is why no device may access the memory of another one, whether it could or not; "": those
	// that can may. Then there are no peers.
	Apart string
	// Keep returns how many bytes of device memory columns may have that stay there for later
	// executions, of the bytes that the provider has mapped; nil: none stay. An execution that
	// needs the memory gets it.
	Keep func(mapped int64) int64
	// Method is how inputs that are not on the device reach it; "": as suits the platform. If the
	// platform does not have it, transfers are as with "", and executions say why.
	Method links.Method
	// Uncompiled is told why a program that is used often gets no kernel of its own; nil:
	// nothing is.
	Uncompiled func(error)
}

// Provider executes joins on one GPU. It is safe for concurrent use; each
// concurrent execution has a workspace of its own.
type Provider struct {
	gpu
	arena   *driver.Arena
	refusal string // why no other device accesses it; "": one does, or none was asked for
	budget  int64
	streams int

	mu         sync.Mutex
	idle       []*workspace // the largest first
	workspaces []*workspace
	closed     bool
}

// New opens a device, maps its budget and loads the kernels. It returns
// kernels.ErrUnfit if the kernels do not support the device. The caller must call
// Close.
func New(cfg Config) (*Provider, error) {
	c, err := driver.Open(cfg.Ordinal)
	if err != nil {
		return nil, err
	}
	info := c.Info()
	if err := kernels.Fit(info.Major, info.Minor, info.SharedOptin); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p := &Provider{gpu: gpu{context: c}, streams: cfg.Streams}
	if p.platform, err = links.PlatformOf(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p.budget = p.platform.Free / 10 * 9
	if cfg.Budget > 0 {
		p.budget = min(p.budget, cfg.Budget)
	}
	if p.streams == 0 {
		p.streams = min(runtime.NumCPU(), 8)
	}
	if p.general, err = rowid.Load(c, kernels.General, kernels.Aggregate); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p.general.Specialise(rowid.Specialise{Text: kernels.Fixed, Failed: cfg.Uncompiled})
	if p.demanded = cfg.Method; cfg.Method != "" {
		if p.unable = p.platform.Unable(cfg.Method); p.unable == "" {
			p.method = cfg.Method
		}
	}
	if p.method.Pulls() || p.platform.Choose(false) == links.Coherence {
		if p.threads, err = links.LoadThreads(c); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if p.outOfCore, err = outofcore.Open(c, lockSlab(p.platform), cfg.SlabBytes); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	keep := int64(0)
	if cfg.Keep != nil {
		keep = cfg.Keep(p.budget)
	}
	p.resident = resident.New[*residentColumn](keep)
	peers := cfg.Peers
	if p.apart = cfg.Apart; p.apart != "" {
		peers = nil
	}
	if err := p.mapBudget(peers); err != nil {
		p.outOfCore.Close()
		return nil, errors.Join(fmt.Errorf("device %d: %w", cfg.Ordinal, err), c.Close())
	}
	return p, nil
}

// mapBudget maps the budget for the device and its peers.
func (p *Provider) mapBudget(peers []int) (err error) {
	var contexts []*driver.Context
	defer func() {
		for _, c := range contexts {
			err = errors.Join(err, c.Close())
		}
	}()
	own := p.Info().Ordinal
	shared := slices.Contains(peers, own)
	for _, ordinal := range peers {
		if ok, err := driver.Reaches(ordinal, own); err != nil || !ok || ordinal == own {
			continue
		}
		c, err := driver.Open(ordinal)
		if err != nil {
			continue // a device that does not open copies nothing
		}
		contexts = append(contexts, c)
		p.peers = append(p.peers, ordinal)
	}
	if p.arena, err = p.context.NewArena(p.budget, contexts...); err != nil && len(contexts) > 0 {
		p.refusal = fmt.Sprintf("other devices do not copy from its memory: %v", err)
		p.peers = nil
		p.arena, err = p.context.NewArena(p.budget)
	}
	if shared {
		p.peers = append(p.peers, own)
	}
	return err
}

// Peers returns the ordinals of the devices that copy from the provider's memory.
func (p *Provider) Peers() []int { return p.peers }

// Name returns the provider's name.
func (p *Provider) Name() string { return "cuda" }

// Check refuses plans with expressions or aggregates that kernels do not compute.
func (p *Provider) Check(plan *joincore.Checked) error { return program.CheckPlan(plan) }

// Note returns which optional feature is unavailable, and why, or "".
func (p *Provider) Note() string {
	notes := slices.DeleteFunc([]string{p.outOfCore.Note(), p.refusal, p.methodNote()}, func(note string) bool { return note == "" })
	return strings.Join(notes, "; ")
}

// Info describes the device.
func (p *Provider) Info() driver.Info { return p.context.Info() }

// Lost returns the error by which this process lost the device, or nil.
func (p *Provider) Lost() error { return p.context.Lost() }

// locked tracks the host memory that this process has page-locked.
var locked pageLocks

// Register page-locks mapped memory, so that it is copied directly. Until then,
// or if Register fails, copies use the platform's method for unregistered
// memory. Nothing is locked if inputs are transferred by a method for pageable memory.
// Memory is locked once for all devices: if several providers register
// the same memory, it stays locked until each has released it. Call release
// when no execution reads or writes the memory any more.
func (p *Provider) Register(mem []byte) (release func(), err error) {
	if !p.method.PageLocks() {
		return func() {}, nil
	}
	return register(p.platform, mem, &p.registered, func() (func(), error) {
		return locked.take(mem, func() (func(), error) { return lockPages(p.context, mem) })
	})
}

// slabs is the page-locked memory of joins out of core, which all devices copy directly.
var slabs ranges

// Kept returns the bytes of host memory for joins out of core that no join has and that this
// process keeps for later ones, for all providers.
func (p *Provider) Kept() int64 { return p.outOfCore.Slabs.Kept() }

// Settle waits until the memory that joins have left for later ones is page-locked. No
// execution may be running. Benchmarks call it between a first execution and the next.
func (p *Provider) Settle() { p.outOfCore.Slabs.Settle() }

// lockSlab returns what locks memory that this process has allocated, for all providers. It
// waits for no other lock operation.
func lockSlab(platform links.Platform) outofcore.Lock {
	return func(c *driver.Context, mem []byte) (release func(), err error) {
		return register(platform, mem, &slabs, func() (func(), error) { return lockPages(c, mem) })
	}
}

// register locks memory and enables direct copies from it until release.
func register(platform links.Platform, mem []byte, in *ranges, lock func() (unlock func(), err error)) (release func(), err error) {
	if why := platform.Absent(links.Pinned, int64(len(mem)), false); why != "" {
		return nil, errors.New(why)
	}
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	in.add(mem)
	return func() {
		in.remove(mem)
		unlock()
	}, nil
}

func lockPages(c *driver.Context, mem []byte) (unlock func(), err error) {
	r, err := c.Register(mem)
	if err != nil {
		return nil, err
	}
	return func() { _ = r.Close() }, nil // fails only if the context was lost
}

// Open starts an execution. Device memory is allocated from the provider's
// workspaces; mem provides the host memory for inputs that exceed device
// memory. It returns ErrBudget if too many executions are running for another
// workspace. The caller must close the returned device.
func (p *Provider) Open(mem joincore.Memory, opt device.Options) (device.Device, error) {
	if err := p.context.Lost(); err != nil {
		return nil, err
	}
	s, err := p.takeWorkspace()
	if err != nil {
		return nil, err
	}
	return newExecution(s, mem, opt, p.returnWorkspace), nil
}

// takeWorkspace returns the largest idle workspace, or a new one with three
// quarters of the unassigned memory.
func (p *Provider) takeWorkspace() (*workspace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) > 0 {
		s := p.idle[0]
		p.idle = p.idle[1:]
		return s, nil
	}
	bytes := p.arena.Free() / 4 * 3
	if p.closed || bytes < p.budget/64 {
		return nil, fmt.Errorf("%d executions already use the device: %w", len(p.workspaces), joincore.ErrBudget)
	}
	s, err := newWorkspace(&p.gpu, p.arena, bytes, p.streams)
	if err != nil {
		return nil, err
	}
	p.workspaces = append(p.workspaces, s)
	return s, nil
}

func (p *Provider) returnWorkspace(s *workspace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearchFunc(p.idle, s.bytes, func(o *workspace, bytes int64) int { return cmp.Compare(bytes, o.bytes) })
	p.idle = slices.Insert(p.idle, i, s)
}

// Close frees everything. All executions must have been closed and all
// registered memory released.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.outOfCore.Close()
	var errs []error
	for _, s := range p.workspaces {
		errs = append(errs, s.close())
	}
	p.workspaces, p.idle = nil, nil
	return errors.Join(append(errs, p.general.Close(), p.threads.Close(), p.arena.Close(), p.context.Close())...)
}

var _ device.Provider = (*Provider)(nil)

// gpu is what executions use of a provider's device.
type gpu struct {
	context    *driver.Context
	platform   links.Platform
	demanded   links.Method   // by which inputs should reach the device; "": as suits the platform
	method     links.Method   // the same where the platform has it, else ""
	unable     string         // why it has not
	threads    *links.Threads // that pull, where the platform or the method wants that
	general    *rowid.Kernels
	outOfCore  *outofcore.Device
	registered ranges
	resident   *resident.Cache[*residentColumn]
	peers      []int      // ordinals of devices that access its memory
	apart      string     // why no device may access another's memory; "": those that can may
	mesh       *mesh.Mesh // of the machine's devices; nil: unknown
	number     int        // of the device in the mesh
	testHooks
}

// testHooks are set by tests only. Zero values leave decisions to the provider.
type testHooks struct {
	rowIDsOnly bool               // no join takes whole sides
	place      columnar.Placement // of the units of hybrid tables for which devices have space
}

// transferMethod returns how a piece of host memory is copied to or from the
// device.
func (g *gpu) transferMethod(b []byte) links.Method {
	return g.platform.Choose(g.pageLocked(b))
}

// pageLocked reports whether memory is page-locked for copies of the device.
func (g *gpu) pageLocked(b []byte) bool { return g.registered.holds(b) || slabs.holds(b) }

// deviceToHost queues a direct copy to host memory that needs no staging.
func (g *gpu) deviceToHost(s *driver.Stream, to []byte, from driver.Ptr) error {
	if g.transferMethod(to) == links.Coherence {
		return g.threads.Move(s, links.Address(to), from, int64(len(to)))
	}
	return s.CopyOut(to, from)
}
