package plans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"etcdop.test/standin/proxy"
)

// flow is a user's course of actions, during which the operator is killed at each write.
type flow struct {
	name   string
	start  int   // members before the recorded part; 0: the creation belongs to it
	steps  []int // the wanted sizes, in turn
	delete bool
	// prepare, if not nil, creates what the cluster needs beforehand; edit changes its spec.
	prepare func(ctx context.Context, e *Env) error
	edit    func(spec map[string]any)
	// then, if not nil, runs when the cluster has its final size.
	then func(ctx context.Context, e *Env, replicas int) error
	// deadly, if not nil, picks the writes at which the operator is killed.
	deadly func(*proxy.Write) bool
}

// The longest come first, so that none of them runs alone at the end.
var flows = []flow{
	{name: "shrink", start: 3, steps: []int{1}},
	{name: "tls and auth", steps: []int{3}, prepare: makeTLSAndAuth, edit: withTLSAndAuth,
		then: replaceOne, deadly: turnsAuthOn},
	{name: "own authority", steps: []int{3}, prepare: makeRoot, edit: withOwnAuthority,
		then: replaceOne, deadly: writesSecrets},
	{name: "tls", steps: []int{3}, prepare: makeTLS, edit: withTLS, then: replaceOne, deadly: never},
	{name: "password changed", start: 3, prepare: makeTLSAndAuth, edit: withTLSAndAuth,
		then: changeTwice, deadly: changesPassword},
	{name: "snapshot", start: 1, then: takeSnapshot, deadly: writesSnapshots},
	{name: "grow", start: 1, steps: []int{3}},
	{name: "delete", start: 3, delete: true},
	{name: "create", steps: []int{3}},
}

// run runs the flow and kills the operator, or not, at one write of the recorded part.
func (f *flow) run(ctx context.Context, e *Env, trigger *proxy.Trigger) error {
	if f.prepare != nil {
		if err := f.prepare(ctx, e); err != nil {
			return err
		}
	}
	if f.start > 0 {
		if err := e.Create(ctx, f.start, f.edit); err != nil {
			return err
		}
		if err := e.Settled(ctx, f.start); err != nil {
			return fmt.Errorf("before the kill: %w", err)
		}
	}
	e.Guard().Begin(f.name, trigger)
	if err := f.act(ctx, e); err != nil {
		return err
	}
	select {
	case <-e.Guard().Fired():
		return nil
	default:
	}
	if trigger != nil {
		return errMissed
	}
	return nil
}

func (f *flow) act(ctx context.Context, e *Env) error {
	replicas := f.start
	for i, wanted := range f.steps {
		var err error
		if replicas = wanted; f.start == 0 && i == 0 {
			err = e.Create(ctx, replicas, f.edit)
		} else {
			err = e.Scale(ctx, replicas)
		}
		if err != nil {
			return err
		}
		if err := e.Settled(ctx, replicas); err != nil {
			return fmt.Errorf("%d members: %w", replicas, err)
		}
	}
	if f.then != nil {
		if err := f.then(ctx, e, replicas); err != nil {
			return err
		}
	}
	if f.prepare != nil {
		if err := e.untold(ctx); err != nil {
			return err
		}
	}
	if !f.delete {
		return nil
	}
	if err := e.Delete(ctx); err != nil {
		return err
	}
	return e.Gone(ctx)
}

// Recorder makes cases from the operator's undisturbed writes.
type Recorder struct {
	Dir string

	mu     sync.Mutex
	writes map[string][]proxy.Write // by flow
}

// Undisturbed returns the recording cases, one for each flow.
func (r *Recorder) Undisturbed() []Case {
	r.writes = map[string][]proxy.Write{}
	var cases []Case
	for _, f := range flows {
		cases = append(cases, Case{Name: f.name + ", undisturbed", Run: func(ctx context.Context, e *Env) error {
			if err := f.run(ctx, e, nil); err != nil {
				return err
			}
			return r.keep(f.name, e.Guard().Writes())
		}})
	}
	return cases
}

func (r *Recorder) keep(name string, writes []proxy.Write) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes[name] = writes
	return os.WriteFile(filepath.Join(r.Dir, name+".jsonl"), proxy.Recording(writes), 0o644)
}

// Kills returns a case for each recorded write and each of these fates, for the recorded flows.
func (r *Recorder) Kills(fates []proxy.Fate) []Case {
	var cases []Case
	for _, f := range flows {
		for _, write := range r.writes[f.name] {
			if !write.Accepted() || f.deadly != nil && !f.deadly(&write) {
				continue
			}
			for _, fate := range fates {
				cases = append(cases, kill(f, write, fate))
			}
		}
	}
	return cases
}

// kill is one plan. Writes differ a little from run to run; a plan that missed its write is tried again by the write's number
// alone, and by turns.
func kill(f flow, write proxy.Write, fate proxy.Fate) Case {
	return Case{
		Name: fmt.Sprintf("%s: %s: %s", f.name, write.Name(), fate),
		Kind: f.name + ": " + write.Kind(),
		Run: func(ctx context.Context, e *Env) error {
			return f.run(ctx, e, &proxy.Trigger{Name: write.Name(), Fate: fate})
		},
		IfMissed: func(ctx context.Context, e *Env) error {
			return f.run(ctx, e, &proxy.Trigger{Seq: write.Seq, Fate: fate})
		},
	}
}

// OneOfEachKind returns one case of each kind, chosen by the seed, in the order of the cases.
func OneOfEachKind(cases []Case, seed uint64) []Case {
	random := rand.New(rand.NewPCG(seed, 0))
	chosen, seen := map[string]int{}, map[string]int{}
	for i, c := range cases {
		seen[c.Kind]++
		if random.IntN(seen[c.Kind]) == 0 { // Each of a kind with the same probability.
			chosen[c.Kind] = i
		}
	}
	var kept []Case
	for i, c := range cases {
		if chosen[c.Kind] == i {
			kept = append(kept, c)
		}
	}
	return kept
}
