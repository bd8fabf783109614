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
	"etcdop.test/standin/proxy"
)

const (
	// calmFor is how long an operator is watched that can do nothing, and mended how long it may take afterwards.
	calmFor = 8 * time.Second
	mended  = 30 * time.Second
	// mendedQuota is longer: nothing tells that a quota has gone.
	mendedQuota = 75 * time.Second
)

// told waits until the Ready condition of the only member has the reason, and words in its message.
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

// calm watches an operator that cannot go on: it may write to an object once, not again and again.
func (e *Env) calm(ctx context.Context) error {
	e.Guard().Begin("calm", nil)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(calmFor):
	}
	for _, write := range e.Guard().Writes() {
		if write.Accepted() && write.Nth > 1 {
			return fmt.Errorf("without any change: %s", write.Name())
		}
	}
	return nil
}

// stuck makes a cluster of one member that cannot start, sees it told, takes the cause away and waits for the member.
func (e *Env) stuck(ctx context.Context, edit func(map[string]any), reason, words string, limit time.Duration, mend func() error) error {
	if err := e.Create(ctx, 1, edit); err != nil {
		return err
	}
	if err := e.told(ctx, reason, words); err != nil {
		return err
	}
	if err := e.calm(ctx); err != nil {
		return err
	}
	if err := mend(); err != nil {
		return err
	}
	if err := e.Until(ctx, e.Namespace, limit, func() error { return e.allReady(1) }); err != nil {
		return fmt.Errorf("the cause is gone: %w", err)
	}
	return e.Settled(ctx, 1)
}

func unknownClass(ctx context.Context, e *Env) error {
	class := "class-of-" + e.Namespace
	edit := func(spec map[string]any) { spec["storage"].(map[string]any)["storageClassName"] = class }
	return e.stuck(ctx, edit, "Unschedulable", "unbound", mended, func() error {
		return e.Client.Create(ctx, "/apis/storage.k8s.io/v1/storageclasses",
			map[string]any{"metadata": map[string]any{"name": class}, "provisioner": "etcdop.test/standin"})
	})
}

// missingImage has a version of its own: others of it would miss the image, too.
func missingImage(ctx context.Context, e *Env) error {
	e.Version = "3.6.15"
	e.Kubelet.SetImage(e.Version, false)
	return e.stuck(ctx, nil, "ImagePullFailed", e.Version, mended, func() error {
		e.Kubelet.SetImage(e.Version, true)
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
	err := e.Until(ctx, e.Namespace, converge, func() error {
		var quota struct {
			Status struct{ Hard map[string]string }
		}
		if err := e.Client.Get(ctx, path+"/none", &quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return errors.New("the quota is not in force")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.stuck(ctx, nil, "PodRejected", "exceeded quota", mendedQuota, func() error {
		return e.Client.Delete(ctx, path+"/none", nil)
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
	return e.stuck(ctx, nil, "PodRejected", "forbidden", mendedQuota, func() error {
		e.Guard().DropRule(id)
		return nil
	})
}

// during keeps a rule in force while a cluster of three is to grow to five.
func (e *Env) during(ctx context.Context, rule proxy.Rule) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	id, err := e.Guard().AddRule(rule)
	if err != nil {
		return err
	}
	if err := e.Scale(ctx, 5); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(calmFor):
	}
	e.Guard().DropRule(id)
	return e.Settled(ctx, 5)
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
