package plans

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"etcdop.test/standin/world"
)

// Case is one test with its own namespace and operator.
type Case struct {
	Name string
	// Kind is what the cases of a group have in common, such as the flow and the kind of write of kill plans.
	Kind string
	Run  func(ctx context.Context, e *Env) error
	// IfMissed runs instead, from the start, when Run missed its write, and by turns with it. Without it, a miss is a failure.
	IfMissed func(ctx context.Context, e *Env) error
	// Clusters is how many members may found a cluster, if not one: one for each successive EtcdCluster.
	Clusters int
	// NoOperator is for tests of the stand-in itself.
	NoOperator bool
}

// errMissed says that the write for the kill did not come.
var errMissed = errors.New("the write did not come")

// Runner runs cases side by side and counts.
type Runner struct {
	World    *world.World
	Operator []string // command line; {kubeconfig} and {namespace} are replaced
	ActAs    string   // the operators' user on the API server
	Version  string   // of etcd
	Parallel int
	Limit    time.Duration // for one case
	Print    func(format string, arguments ...any)

	Passed, Failed int
	Missed         []string // cases that missed their write: not counted until Judge

	mu    sync.Mutex
	made  int
	began time.Time
}

// Run runs the cases and returns when all have ended.
func (r *Runner) Run(ctx context.Context, cases []Case) {
	if r.began.IsZero() {
		r.began = time.Now()
	}
	work := make(chan Case)
	var workers sync.WaitGroup
	for range r.Parallel {
		workers.Go(func() {
			for c := range work {
				r.one(ctx, c)
			}
		})
	}
	for _, c := range cases {
		if ctx.Err() != nil {
			break
		}
		work <- c
	}
	close(work)
	workers.Wait()
}

func (r *Runner) one(ctx context.Context, c Case) {
	started := time.Now()
	log, err := inTurns(c, func(c Case) (string, error) { return r.try(ctx, c) })
	r.count(ctx, c, started, log, err)
}

// tries is how often a case is tried whose write does not come: a busy machine joins two writes into one, now and then.
const tries = 4

// inTurns tries Run and IfMissed by turns until the write came.
func inTurns(c Case, try func(Case) (string, error)) (log string, err error) {
	for range tries {
		log, err = try(c)
		if !errors.Is(err, errMissed) || c.IfMissed == nil {
			break
		}
		c.Run, c.IfMissed = c.IfMissed, c.Run
	}
	return log, err
}

// count reports and counts a case's result.
func (r *Runner) count(ctx context.Context, c Case, started time.Time, log string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seconds := time.Since(started).Seconds()
	switch {
	case err == nil:
		r.Passed++
		r.Print("ok     %5.1f s  %s", seconds, c.Name)
	case errors.Is(err, errMissed) && c.IfMissed != nil:
		r.Missed = append(r.Missed, c.Name)
		r.Print("missed %5.1f s  %s", seconds, c.Name)
	case ctx.Err() != nil:
		r.Print("ended  %5.1f s  %s: %v", seconds, c.Name, ctx.Err())
	default:
		r.Failed++
		r.Print("FAILED %5.1f s  %s: %v (%s)", seconds, c.Name, err, log)
	}
}

func (r *Runner) try(ctx context.Context, c Case) (log string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	r.mu.Lock()
	r.made++
	namespace := fmt.Sprintf("t%d-%s", r.made, strconv.FormatInt(r.began.Unix(), 36)) // unique, even on a reused API server
	r.mu.Unlock()
	if err := r.World.MakeNamespace(ctx, namespace); err != nil {
		return "", err
	}
	defer r.World.Kubelet.Abandon(namespace)
	spec := world.Spec{Name: namespace, Namespace: namespace, Command: r.Operator, ActAs: r.ActAs}
	if c.NoOperator {
		spec.Command = nil
	}
	operator, err := r.World.NewInstance(spec)
	if err != nil {
		return "", err
	}
	defer operator.Stop()
	e := &Env{World: r.World, Namespace: namespace, Operator: operator, Version: r.Version}
	e.etcd = &etcdClient{api: r.World.Client, cluster: e.cluster, port: etcdPort}
	e.writer = startWriter(ctx, e.etcd, e.pods)
	defer e.writer.end()
	if err = c.Run(ctx, e); err == nil {
		err = e.final(max(c.Clusters, 1))
	}
	return filepath.Dir(operator.Log), err
}

// Judge names the cases that missed their write; if they are more than allowed, they have failed.
func (r *Runner) Judge(allowed int) {
	verdict := "missed"
	if len(r.Missed) > allowed {
		verdict = "FAILED"
		r.Failed += len(r.Missed)
	}
	for _, name := range r.Missed {
		r.Print("%s its write did not come: %s", verdict, name)
	}
}

// Only keeps the cases whose names contain one of the words; without words, all.
func Only(cases []Case, words []string) []Case {
	if len(words) == 0 {
		return cases
	}
	var kept []Case
	for _, c := range cases {
		for _, word := range words {
			if strings.Contains(c.Name, word) {
				kept = append(kept, c)
				break
			}
		}
	}
	return kept
}

// Alternately is one case of each list in turn, then the rest. Scenarios mostly wait, and kill plans compute: together they leave
// no processor idle.
func Alternately(some, others []Case) []Case {
	var out []Case
	for i := range max(len(some), len(others)) {
		if i < len(some) {
			out = append(out, some[i])
		}
		if i < len(others) {
			out = append(out, others[i])
		}
	}
	return out
}

// WithoutOperator keeps the cases that need no operator.
func WithoutOperator(cases []Case) []Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !c.NoOperator })
}

// Needed keeps the undisturbed flows whose recordings the words need; without words, all.
func Needed(undisturbed []Case, words []string) []Case {
	if len(words) == 0 {
		return undisturbed
	}
	return slices.DeleteFunc(slices.Clone(undisturbed), func(c Case) bool {
		flow, _, _ := strings.Cut(c.Name, ",")
		return !slices.ContainsFunc(words, func(word string) bool {
			return strings.HasPrefix(word, flow) || strings.Contains(c.Name, word)
		})
	})
}
