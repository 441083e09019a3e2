package mirrorcheck

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"gpujoin/tests/harness"
)

// saboteur causes faults, one at a time, and waits until each is over.
type saboteur struct {
	*client
	campaign *campaign
	every    time.Duration // between two faults, on average
	next     []string
}

// faults by name. Each returns when it has been caused and removed; what it leads to may last
// longer.
var faults = map[string]func(*saboteur, context.Context) error{
	"sender killed": func(f *saboteur, ctx context.Context) error { return f.atSource(ctx, killSenders) },
	"slot dropped":  (*saboteur).dropSlot,
	"publication dropped": func(f *saboteur, ctx context.Context) error {
		return f.quietly(ctx, "drop publication if exists gpujoin")
	},
	"table unpublished": func(f *saboteur, ctx context.Context) error {
		return f.quietly(ctx, "alter publication gpujoin drop table credit")
	},
	"updates unpublished": func(f *saboteur, ctx context.Context) error {
		if err := f.quietly(ctx, "alter publication gpujoin set (publish = 'insert')"); err != nil {
			return err
		}
		return f.atSource(ctx, "alter publication gpujoin set (publish = 'insert, update, delete, truncate')")
	},
	"source restarted": func(f *saboteur, _ context.Context) error { return f.restart(syscall.SIGINT) },
	"source crashed":   func(f *saboteur, _ context.Context) error { return f.restart(syscall.SIGQUIT) },
	"network stalled":  (*saboteur).stall,
	"network slow":     (*saboteur).slow,
	"network cut":      (*saboteur).cut,
	"daemon killed": func(f *saboteur, _ context.Context) error {
		return f.world.KillDaemon(time.Duration(f.IntN(300)) * time.Millisecond)
	},
	"table altered": func(f *saboteur, ctx context.Context) error {
		return f.atSource(ctx, one(f.Rand, "alter table stock add column if not exists more int default 1", "alter table stock drop column if exists more",
			"alter table docs alter sum type varchar(60); alter table docs alter sum type text", "cluster lines using lines_pkey", "vacuum full big"))
	},
}

// noticed is the time after which the daemon, which reads the source's catalogue each second,
// has noticed a change there.
const noticed = 2500 * time.Millisecond

const killSenders = "select pg_terminate_backend(pid) from pg_stat_replication"

func (f *saboteur) run(ctx context.Context) error {
	for {
		f.pause(ctx, 2*f.every)
		if ctx.Err() != nil {
			return nil
		}
		if err := f.one(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
}

// one causes the next fault of a list that has each once.
func (f *saboteur) one() error {
	w := f.world
	w.calm.Lock()
	defer w.calm.Unlock()
	if broken := w.broken(); broken != "" {
		return fmt.Errorf("%s", broken)
	}
	if len(f.next) == 0 {
		for name := range faults {
			f.next = append(f.next, name)
		}
		slices.Sort(f.next)
		f.Shuffle(len(f.next), func(i, j int) { f.next[i], f.next[j] = f.next[j], f.next[i] })
	}
	name := f.next[0]
	f.next = f.next[1:]
	w.disturbed.Add(1)
	defer func() {
		w.over.Store(time.Now().UnixNano())
		w.disturbed.Add(1)
	}()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if err := faults[name](f, ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := f.recovered(ctx); err != nil {
		f.campaign.violation("after a fault", fmt.Sprintf("%s: not over after %.0f s: %v\n%s", name, time.Since(began).Seconds(), err, w.Status(context.Background())))
	}
	f.campaign.fault(name, time.Since(began))
	return nil
}

// recovered waits until all tables can be read and are mirrored again.
func (f *saboteur) recovered(ctx context.Context) error {
	s, err := f.world.Local.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	time.Sleep(noticed)
	for {
		if err = f.world.mirrored(ctx, s); err == nil {
			for _, server := range servers {
				if _, err = s.One(ctx, "select count(*) from "+server+".beats"); err != nil {
					break
				}
			}
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// atSource executes a statement at the source. It takes locks that writers hold.
func (f *saboteur) atSource(ctx context.Context, sql string) error {
	s, err := f.world.Source.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		err := s.Exec(ctx, sql)
		switch harness.SQLState(err) {
		case "40P01", "55P03", "55006":
			if ctx.Err() == nil {
				continue
			}
		}
		return err
	}
}

// dropSlot drops the permanent slot, for which its sender must end.
func (f *saboteur) dropSlot(ctx context.Context) error {
	s, err := f.world.Source.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		if err := s.Exec(ctx, killSenders); err != nil {
			return err
		}
		err := s.Exec(ctx, "select pg_drop_replication_slot('"+slot+"')")
		if err == nil || ctx.Err() != nil || harness.SQLState(err) == "42704" {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// quietly changes the publication while nobody writes, and until that has been noticed: of
// changes that are not published the stream tells nothing.
func (f *saboteur) quietly(ctx context.Context, sql string) error {
	f.world.gate.Lock()
	defer f.world.gate.Unlock()
	if err := f.atSource(ctx, sql); err != nil {
		return err
	}
	time.Sleep(noticed)
	return nil
}

func (f *saboteur) restart(mode syscall.Signal) error {
	if err := f.world.Source.Server().Stop(patience, mode, syscall.SIGQUIT); err != nil {
		return err
	}
	time.Sleep(time.Duration(f.IntN(500)) * time.Millisecond)
	return f.world.Source.Start()
}

func (f *saboteur) stall(ctx context.Context) error {
	if err := f.world.network.Stall(); err != nil {
		return err
	}
	time.Sleep(time.Duration(1+f.IntN(6)) * time.Second)
	f.world.network.Resume(ctx)
	return nil
}

func (f *saboteur) slow(ctx context.Context) error {
	if err := f.world.network.Slow(5+f.IntN(100), 200+f.IntN(2000)); err != nil {
		return err
	}
	time.Sleep(time.Duration(1+f.IntN(6)) * time.Second)
	f.world.network.Resume(ctx)
	return nil
}

func (f *saboteur) cut(context.Context) error {
	f.world.network.Cut()
	time.Sleep(time.Duration(f.IntN(3000)) * time.Millisecond)
	return f.world.network.Restore()
}
