package plans

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/proxy"
)

const (
	// calmFor is how long a blocked operator is watched: it may try each write once in that time. calmPulling is shorter, because the
	// kubelet keeps changing the status of an image that it cannot pull.
	calmFor     = time.Minute
	calmPulling = 8 * time.Second
	// troubleFor is how long a fault lasts that the operator must survive.
	troubleFor = 8 * time.Second
	// refusedRetry is the longest time until the operator retries a refused write: no event reports the end of a quota.
	refusedRetry = time.Minute
	// mended is how long everything may take after the next retry: two starts, because the founder's Pod is recreated (ADR 0013), on a
	// machine that compiles beside them.
	mended = converge
)

// told waits until the Ready condition of the only member has the reason, and the words in its message.
func (e *Env) told(ctx context.Context, reason, words string) error {
	return e.Until(ctx, e.Namespace, converge, func() error {
		for _, member := range e.Members.In(e.Namespace) {
			for _, c := range member.Status.Conditions {
				if c.Type == "Ready" && c.Reason == reason && strings.Contains(c.Message, words) {
					return nil
				}
			}
		}
		return fmt.Errorf("no EtcdMember says Ready=False/%s with %q", reason, words)
	})
}

// calm watches a blocked operator.
func (e *Env) calm(ctx context.Context, duration time.Duration) error {
	if err := pause(ctx, rest); err != nil { // The Events of its last steps are written beside its passes.
		return err
	}
	e.Guard().Begin("calm", nil)
	if err := pause(ctx, duration); err != nil {
		return err
	}
	return restless(e.Guard().Writes())
}

// restless returns an error for a write that was tried more than once although nothing had changed, refused or not. After its first
// refusal a write may be tried again soon; that is one try, because the first one came before the refusal was reported.
func restless(writes []proxy.Write) error {
	tries := map[string]int{}
	for _, write := range writes {
		tries[write.Kind()]++
	}
	for _, write := range writes {
		if n := tries[write.Kind()]; n > 1 {
			return fmt.Errorf("without any change: %d times %s (answer %d)", n, write.Kind(), write.Code)
		}
	}
	return nil
}

func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}

// stuck creates a cluster of one member that cannot start, waits for the report, watches the operator for a while, removes the
// cause and waits for the cluster. mend returns how long the next retry may take.
func (e *Env) stuck(ctx context.Context, edit func(map[string]any), reason, words string, watched time.Duration,
	mend func() (retry time.Duration, err error)) error {
	if err := e.Create(ctx, 1, edit); err != nil {
		return err
	}
	if err := e.told(ctx, reason, words); err != nil {
		return err
	}
	if err := e.calm(ctx, watched); err != nil {
		return err
	}
	retry, err := mend()
	if err != nil {
		return err
	}
	if err := e.Until(ctx, e.Namespace, retry+mended, func() error { return e.complaint(ctx, 1) }); err != nil {
		return fmt.Errorf("the cause is gone: %w", err)
	}
	return e.Settled(ctx, 1)
}

func unknownClass(ctx context.Context, e *Env) error {
	class := "class-of-" + e.Namespace
	edit := func(spec map[string]any) { spec["storage"].(map[string]any)["storageClassName"] = class }
	return e.stuck(ctx, edit, "Unschedulable", "unbound", calmFor, func() (time.Duration, error) {
		return kubelet.ClassRetry, e.Client.Create(ctx, "/apis/storage.k8s.io/v1/storageclasses",
			map[string]any{"metadata": map[string]any{"name": class}, "provisioner": "etcdop.test/standin"})
	})
}

func missingImage(ctx context.Context, e *Env) error {
	e.Kubelet.SetImages(e.Namespace, false)
	began := time.Now()
	return e.stuck(ctx, nil, "ImagePullFailed", e.Version, calmPulling, func() (time.Duration, error) {
		e.Kubelet.SetImages(e.Namespace, true)
		return e.Kubelet.PullWait(time.Since(began)), nil
	})
}

// inForce waits until the API server counts for that ResourceQuota.
func (e *Env) inForce(ctx context.Context, path string) error {
	return e.Until(ctx, e.Namespace, converge, func() error {
		var quota struct {
			Status struct{ Hard map[string]string }
		}
		if err := e.Client.Get(ctx, path, &quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return errors.New("the quota is not in force")
		}
		return nil
	})
}

func quota(ctx context.Context, e *Env) error {
	path := kube.Namespaced("/api/v1/resourcequotas", e.Namespace)
	none := map[string]any{
		"metadata": map[string]any{"name": "none"}, "spec": map[string]any{"hard": map[string]any{"pods": "0"}},
	}
	if err := e.Client.Create(ctx, path, none); err != nil {
		return err
	}
	if err := e.inForce(ctx, path+"/none"); err != nil {
		return err
	}
	return e.stuck(ctx, nil, "PodRejected", "exceeded quota", calmFor, func() (time.Duration, error) {
		return refusedRetry, e.Client.Delete(ctx, path+"/none", nil)
	})
}

func forbidden(ctx context.Context, e *Env) error {
	const message = `pods is forbidden: User "operator" cannot create resource "pods" in API group ""`
	id, err := e.Guard().AddRule(proxy.Rule{
		Side: proxy.API, Method: "POST", Path: "/pods$", Action: "status", Code: http.StatusForbidden, Message: message,
	})
	if err != nil {
		return err
	}
	return e.stuck(ctx, nil, "PodRejected", "forbidden", calmFor, func() (time.Duration, error) {
		e.Guard().DropRule(id)
		return refusedRetry, nil
	})
}

// during keeps a rule in force while a cluster grows from three to five; the operator must survive.
func (e *Env) during(ctx context.Context, rule proxy.Rule) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	life := e.Operator.PID()
	id, err := e.Guard().AddRule(rule)
	if err != nil {
		return err
	}
	if err := e.Scale(ctx, 5); err != nil {
		return err
	}
	if err := pause(ctx, troubleFor); err != nil {
		return err
	}
	e.Guard().DropRule(id)
	if err := e.Settled(ctx, 5); err != nil {
		return err
	}
	return e.livesOn(life)
}

// livesOn returns an error if the operator is not the same process.
func (e *Env) livesOn(life int) error {
	if now := e.Operator.PID(); now != life {
		return fmt.Errorf("the operator was process %d and is %d", life, now)
	}
	return nil
}

func apiGone(ctx context.Context, e *Env) error {
	return e.during(ctx, proxy.Rule{Side: proxy.API, Action: "reset"})
}

func slowDown(ctx context.Context, e *Env) error {
	return e.during(ctx, proxy.Rule{
		Side: proxy.API, Action: "status", Code: http.StatusTooManyRequests, Message: "please try again later", RetryAfter: 1,
	})
}

func frozen(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	before := names(e.Members.In(e.Namespace))
	if !e.Kubelet.Signal(e.Namespace, before[0], syscall.SIGSTOP) {
		return errors.New("there is no process to freeze")
	}
	err := e.Until(ctx, e.Namespace, converge, func() error { return e.allReady(2) })
	e.Kubelet.Signal(e.Namespace, before[0], syscall.SIGCONT)
	if err != nil {
		return err
	}
	if err := e.Settled(ctx, 3); err != nil {
		return err
	}
	if after := names(e.Members.In(e.Namespace)); !slices.Equal(before, after) {
		return fmt.Errorf("members were %v and are %v", before, after)
	}
	return nil
}
