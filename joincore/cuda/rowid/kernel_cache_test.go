package rowid

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// cacheResults is what a test compiles: numbers, with those that were freed.
type cacheResults struct {
	made  int
	freed []int
}

func (r *cacheResults) compile() (int, error) {
	r.made++
	return r.made, nil
}

func (r *cacheResults) cache(most int) *kernelCache[int] {
	return &kernelCache[int]{After: 100, Most: most, Wait: true, Free: func(v int) error {
		r.freed = append(r.freed, v)
		return nil
	}}
}

// A program is compiled once it was used for enough rows, and once.
func TestOftenUsed(t *testing.T) {
	r := &cacheResults{}
	c := r.cache(4)
	for i, want := range []bool{false, false, true, true} {
		v, release, ok := c.Use("a", 40, r.compile)
		if ok != want || ok && v != 1 {
			t.Fatalf("use %d: %d, %v", i, v, ok)
		}
		if ok {
			release()
		}
	}
	if _, _, ok := c.Use("b", 99, r.compile); ok || r.made != 1 || c.Count() != 1 {
		t.Errorf("%d were compiled, %d kept", r.made, c.Count())
	}
	if err := c.Close(); err != nil || fmt.Sprint(r.freed) != "[1]" {
		t.Errorf("freed %v, %v", r.freed, err)
	}
	if _, _, ok := c.Use("a", 1000, r.compile); ok || r.made != 1 {
		t.Error("a closed cache is used")
	}
}

// A program that does not compile is not tried again.
func TestDoesNotCompile(t *testing.T) {
	r := &cacheResults{}
	c, tried := r.cache(4), 0
	var failed []error
	c.Failed = func(err error) { failed = append(failed, err) }
	for range 3 {
		_, _, ok := c.Use("a", 1000, func() (int, error) {
			tried++
			return 0, errors.New("no")
		})
		if ok {
			t.Error("there is a result")
		}
	}
	if _, _, ok := c.Use("b", 1000, r.compile); tried != 1 || !ok {
		t.Errorf("tried %d times; the next one: %v", tried, ok)
	}
	if len(failed) != 1 {
		t.Errorf("failures reported: %v", failed)
	}
	if err := c.Close(); err != nil || len(r.freed) != 1 {
		t.Errorf("freed %v, %v", r.freed, err)
	}
}

// The result that was used longest ago makes space, unless it is in use.
func TestSpace(t *testing.T) {
	r := &cacheResults{}
	c := r.cache(2)
	use := func(key string) (int, func()) {
		v, release, ok := c.Use(key, 1000, r.compile)
		if !ok {
			return 0, func() {}
		}
		return v, release
	}
	_, a := use("a")
	_, b := use("b")
	if v, _ := use("c"); v != 0 {
		t.Error("a result in use was freed")
	}
	a()
	b()
	_, a = use("a") // so b is older
	a()
	if v, release := use("c"); v != 3 {
		t.Error("there was no space")
	} else {
		release()
	}
	if fmt.Sprint(r.freed) != "[2]" {
		t.Errorf("freed %v", r.freed)
	}
	for i := range 100 * mostKnownKernels { // programs that are used once do not fill the memory
		c.Use(fmt.Sprint(i), 1, r.compile)
	}
	if len(c.entries) > 2*mostKnownKernels {
		t.Errorf("%d programs are remembered", len(c.entries))
	}
	if v, release := use("a"); v != 1 {
		t.Error("a result was forgotten")
	} else {
		release()
	}
}

// Users go on while a program is compiled, and one is compiled at a time.
func TestUsersGoOn(t *testing.T) {
	r := &cacheResults{}
	c := r.cache(4)
	c.Wait = false
	begin, end := make(chan bool), make(chan bool)
	_, _, ok := c.Use("a", 1000, func() (int, error) {
		close(begin)
		<-end
		return 7, nil
	})
	<-begin
	if _, _, other := c.Use("b", 1000, r.compile); ok || other || r.made != 0 {
		t.Error("a user has a result too early")
	}
	close(end)
	deadline := time.Now().Add(time.Minute)
	for c.Count() == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if v, _, ok := c.Use("a", 1, r.compile); !ok || v != 7 {
		t.Errorf("%d, %v", v, ok)
	}
}

// Many users of many programs, and a cache that is closed behind them.
func TestManyUsers(t *testing.T) {
	var mu sync.Mutex
	alive := map[string]int{}
	c := &kernelCache[string]{After: 10, Most: 3, Free: func(v string) error {
		mu.Lock()
		defer mu.Unlock()
		alive[v]--
		return nil
	}}
	var users sync.WaitGroup
	for u := range 8 {
		users.Go(func() {
			for i := range 2000 {
				key := fmt.Sprint((i*7 + u) % 5)
				v, release, ok := c.Use(key, 3, func() (string, error) {
					mu.Lock()
					defer mu.Unlock()
					alive[key]++
					return key, nil
				})
				if !ok {
					continue
				}
				mu.Lock()
				if v != key || alive[key] < 1 {
					t.Errorf("program %s has result %s, of which %d live", key, v, alive[key])
				}
				mu.Unlock()
				release()
			}
		})
	}
	users.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(alive) == 0 {
		t.Error("no program was compiled")
	}
	for key, n := range alive {
		if n != 0 {
			t.Errorf("%d results of %s are left", n, key)
		}
	}
}
