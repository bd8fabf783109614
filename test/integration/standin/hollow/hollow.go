// Package hollow plays, over a real API server, thousands of etcd Pods in one process: each is an address of 127.0.0.0/8 that
// answers the calls of etcd's API which an operator makes while a cluster grows and rests. It stores no data.
package hollow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"etcdop.test/standin/kube"
)

const (
	atOnce    = 16 // requests to the API server
	tries     = 50
	retry     = 200 * time.Millisecond
	node      = "hollow"
	nodesPath = "/api/v1/nodes"
	classPath = "/apis/storage.k8s.io/v1/storageclasses"
)

// World plays all Pods and volumes of an API server.
type World struct {
	client *kube.Client
	places *places
	calls  calls
	slots  chan struct{}

	mu    sync.Mutex
	etcds map[string]*etcd // by namespace and cluster
	pods  map[string]*pod  // by UID
	bound map[string]bool  // volumes, by UID

	adopts atomic.Bool // Pods of members that no etcd lists are voters
}

type pod struct {
	meta   kube.Metadata
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	place  *place // nil until it runs; guarded by World.mu
}

// New finds a network for the members.
func New(client *kube.Client) (*World, error) {
	places, err := newPlaces()
	if err != nil {
		return nil, err
	}
	w := &World{client: client, places: places, slots: make(chan struct{}, atOnce),
		etcds: map[string]*etcd{}, pods: map[string]*pod{}, bound: map[string]bool{}}
	w.calls.reset()
	return w, nil
}

// Run plays until ctx ends.
func (w *World) Run(ctx context.Context) error {
	if err := w.prepare(ctx); err != nil {
		return err
	}
	go kube.NewCache[kube.PVC](w.client, kube.PVCs, func(claim *kube.PVC, deleted bool) { w.claimChanged(ctx, claim, deleted) }).Run(ctx)
	kube.NewCache[kube.Pod](w.client, kube.Pods, func(seen *kube.Pod, deleted bool) { w.podChanged(ctx, seen, deleted) }).Run(ctx)
	return nil
}

func (w *World) prepare(ctx context.Context) error {
	objects := map[string]any{
		nodesPath: map[string]any{"metadata": map[string]any{"name": node}},
		classPath: map[string]any{
			"metadata": map[string]any{"name": "hollow", "annotations": map[string]string{
				"storageclass.kubernetes.io/is-default-class": "true",
			}},
			"provisioner": "etcdop.test/hollow",
		},
	}
	for path, object := range objects {
		if err := w.client.Create(ctx, path, object); err != nil && kube.Code(err) != http.StatusConflict {
			return err
		}
	}
	return nil
}

// insist tries a request until it succeeds or cannot succeed any more; false: it did not succeed.
func (w *World) insist(ctx context.Context, request func() error) bool {
	for i := 0; i < tries && ctx.Err() == nil; i++ {
		w.slots <- struct{}{}
		err := request()
		<-w.slots
		code := kube.Code(err)
		if err == nil || code == http.StatusNotFound || code == http.StatusConflict || code == http.StatusUnprocessableEntity {
			return err == nil
		}
		slog.Debug("request", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
	return false
}

func (w *World) claimChanged(ctx context.Context, claim *kube.PVC, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := claim.Metadata.UID
	if deleted {
		delete(w.bound, uid)
		return
	}
	if w.bound[uid] || claim.Status.Phase == "Bound" {
		return
	}
	w.bound[uid] = true
	status := map[string]any{"metadata": map[string]any{"uid": uid}, "status": map[string]any{
		"phase": "Bound", "accessModes": []string{"ReadWriteOnce"}, "capacity": claim.Spec.Resources.Requests,
	}}
	go w.insist(ctx, func() error { return w.client.Patch(ctx, claim.Metadata.Path(kube.PVCs, "status"), status) })
}

func (w *World) podChanged(ctx context.Context, seen *kube.Pod, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := seen.Metadata.UID
	p := w.pods[uid]
	ends := deleted || seen.Metadata.DeletionTimestamp != nil
	switch {
	case p == nil && !ends && seen.Metadata.Labels[kube.ClusterLabel] != "":
		p = &pod{meta: seen.Metadata, ended: make(chan struct{})}
		p.ctx, p.cancel = context.WithCancel(ctx)
		w.pods[uid] = p
		go w.play(p, seen)
	case p != nil && ends:
		delete(w.pods, uid)
		p.cancel()
		if !deleted {
			go w.bury(ctx, p)
		}
	}
}

// bury deletes the object of a terminating Pod once its member has stopped.
func (w *World) bury(ctx context.Context, p *pod) {
	<-p.ended
	options := map[string]any{"gracePeriodSeconds": 0, "preconditions": map[string]any{"uid": p.meta.UID}}
	w.insist(ctx, func() error { return w.client.Delete(ctx, p.meta.Path(kube.Pods), options) })
}

// etcdOf returns the etcd of the Pod's member.
func (w *World) etcdOf(meta *kube.Metadata) *etcd {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := meta.Namespace + "/" + meta.Labels[kube.ClusterLabel]
	if w.etcds[key] == nil {
		w.etcds[key] = &etcd{id: idOf(key)}
	}
	return w.etcds[key]
}

// play runs one Pod through its phases: bound, started, ready as soon as its member votes, and stopped.
func (w *World) play(p *pod, seen *kube.Pod) {
	defer close(p.ended)
	defer p.cancel()
	container := seen.Spec.Containers[0]
	peerURL := flagOf(container.Command, "--initial-advertise-peer-urls=")
	version := strings.TrimPrefix(container.Image[strings.LastIndexByte(container.Image, ':')+1:], "v")
	binding := map[string]any{"metadata": map[string]any{"name": p.meta.Name, "uid": p.meta.UID},
		"target": map[string]any{"kind": "Node", "name": node}}
	if !w.insist(p.ctx, func() error { return w.client.Create(p.ctx, p.meta.Path(kube.Pods, "binding"), binding) }) {
		return
	}
	ip, err := w.places.take()
	if err != nil {
		slog.Error("address", "error", err)
		return
	}
	promoted := make(chan struct{}, 1)
	cluster := w.etcdOf(&p.meta)
	if w.adopts.Load() {
		cluster.adopt(peerURL)
	}
	me, votes, err := cluster.start(peerURL, p.meta.Name, version, func() { promoted <- struct{}{} })
	if err != nil {
		slog.Error("start", "pod", p.meta.Key(), "error", err)
		return
	}
	defer cluster.stop(me)
	at := &place{ip: ip, serve: handler(cluster, me, &w.calls)}
	if err := at.behave(answers); err != nil {
		slog.Error("listen", "pod", p.meta.Key(), "error", err)
		return
	}
	defer at.behave(refuses)
	w.mu.Lock()
	p.place = at
	w.mu.Unlock()
	w.report(p, ip, container, votes)
	if !votes {
		select {
		case <-p.ctx.Done():
			return
		case <-promoted:
			w.report(p, ip, container, true)
		}
	}
	<-p.ctx.Done()
}

func flagOf(command []string, name string) string {
	i := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, name) })
	if i < 0 {
		return ""
	}
	return strings.TrimPrefix(command[i], name)
}

func (w *World) report(p *pod, ip string, container kube.Container, ready bool) {
	now, is := time.Now(), "False"
	if ready {
		is = "True"
	}
	status := kube.PodStatus{
		Phase: "Running", PodIP: ip, PodIPs: []kube.PodIP{{IP: ip}}, StartTime: &now,
		ContainerStatuses: []kube.ContainerStatus{{
			Name: container.Name, Image: container.Image, Ready: ready, Started: true,
			State: kube.ContainerState{Running: &kube.Running{StartedAt: now}},
		}},
	}
	for _, kind := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		condition := kube.Condition{Type: kind, Status: "True", LastTransitionTime: now}
		if strings.HasSuffix(kind, "Ready") {
			condition.Status = is
		}
		status.Conditions = append(status.Conditions, condition)
	}
	patch := map[string]any{"metadata": map[string]any{"uid": p.meta.UID}, "status": status}
	w.insist(p.ctx, func() error { return w.client.Patch(p.ctx, p.meta.Path(kube.Pods, "status"), patch) })
}

// behave makes all members of a namespace answer, or turns them into one kind of black hole.
func (w *World) behave(namespace, how string) (int, error) {
	w.mu.Lock()
	var meant []*place
	for _, p := range w.pods {
		if p.meta.Namespace == namespace && p.place != nil {
			meant = append(meant, p.place)
		}
	}
	w.mu.Unlock()
	for _, at := range meant {
		if err := at.behave(how); err != nil {
			return 0, err
		}
	}
	return len(meant), nil
}

// Control is the HTTP interface to the world: GET /calls, POST /calls/reset, POST /adopt (from now on Pods are copies: their
// members are voters, with IDs derived from their peer URLs), POST /members/{namespace}/{answers|silent|drops|refuses}.
func (w *World) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /calls", func(rw http.ResponseWriter, _ *http.Request) {
		w.calls.mu.Lock()
		defer w.calls.mu.Unlock()
		seconds := func(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
		_ = json.NewEncoder(rw).Encode(map[string]any{ // the caller may be gone
			"calls": w.calls.total, "clusters": len(w.calls.listed), "since": seconds(w.calls.since),
			"first": seconds(w.calls.First), "latest": seconds(w.calls.Latest),
		})
	})
	mux.HandleFunc("POST /calls/reset", func(http.ResponseWriter, *http.Request) { w.calls.reset() })
	mux.HandleFunc("POST /adopt", func(http.ResponseWriter, *http.Request) { w.adopts.Store(true) })
	mux.HandleFunc("POST /members/{namespace}/{how}", func(rw http.ResponseWriter, r *http.Request) {
		how := r.PathValue("how")
		if !slices.Contains([]string{answers, silent, drops, refuses}, how) {
			http.Error(rw, "members can be "+strings.Join([]string{answers, silent, drops, refuses}, ", "), http.StatusNotFound)
			return
		}
		count, err := w.behave(r.PathValue("namespace"), how)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(rw, count)
	})
	return mux
}
