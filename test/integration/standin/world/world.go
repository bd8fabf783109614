// Package world is an API server, the stand-in's Pods, and operator instances under test between proxies.
package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/proxy"
)

// World is the environment of the tests.
type World struct {
	Client   *kube.Client
	Kubelet  *kubelet.Kubelet
	Clusters *kube.Cache[kube.EtcdCluster, *kube.EtcdCluster]
	Members  *kube.Cache[kube.EtcdMember, *kube.EtcdMember]
	Services *kube.Cache[kube.Object, *kube.Object]
	PDBs     *kube.Cache[kube.Object, *kube.Object]
	Dir      string

	authority *proxy.Authority
	pairs     pairs

	mu        sync.Mutex
	guards    map[string]*proxy.Guard // by namespace; "" for namespaces without their own instance
	instances map[string]*Instance    // by name
	changed   map[string]chan struct{}
	ended     chan error
}

// Start starts the world; the kubelet's configuration needs no Network and no Front.
func Start(ctx context.Context, config kubelet.Config) (*World, error) {
	authority, err := proxy.NewAuthority()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		return nil, err
	}
	if config.Network, err = kubelet.NewNetwork(config.Dir); err != nil {
		return nil, err
	}
	w := &World{
		Client: config.Client, Dir: config.Dir, authority: authority, guards: map[string]*proxy.Guard{"": proxy.NewGuard()},
		instances: map[string]*Instance{}, pairs: pairs{known: map[string]tls.Certificate{}},
		changed: map[string]chan struct{}{}, ended: make(chan error, 1),
	}
	config.Front = w.frontOf
	w.Kubelet = kubelet.New(config, w.notify)
	follow := func(path string) *kube.Cache[kube.Object, *kube.Object] {
		cache := kube.NewCache[kube.Object](config.Client, path, func(o *kube.Object, _ bool) { w.notify(o.Metadata.Namespace) })
		go cache.Run(ctx)
		return cache
	}
	w.Services, w.PDBs = follow(kube.Services), follow(kube.PDBs)
	w.Members = kube.NewCache[kube.EtcdMember](config.Client, kube.EtcdMembers, func(m *kube.EtcdMember, _ bool) {
		w.notify(m.Metadata.Namespace)
	})
	go w.Members.Run(ctx)
	w.Clusters = kube.NewCache[kube.EtcdCluster](config.Client, kube.EtcdClusters, func(c *kube.EtcdCluster, _ bool) {
		w.notify(c.Metadata.Namespace)
	})
	go w.Clusters.Run(ctx)
	go kube.NewCache[kube.Secret](config.Client, kube.AllSecrets,
		func(s *kube.Secret, _ bool) { w.pairs.learn(s) }).Run(ctx)
	go func() { w.ended <- w.Kubelet.Run(ctx) }()
	return w, nil
}

// frontOf starts a proxy in front of the client port of a Pod's etcd.
func (w *World) frontOf(pod *kube.Pod, address, behind string,
	secure *kubelet.ClientTLS) (io.Closer, error) {
	guard := func() *proxy.Guard { return w.Guard(pod.Metadata.Namespace) }
	if secure == nil {
		return proxy.ServeEtcd(address, behind, nil, guard)
	}
	return proxy.ServeEtcd(address, behind, &proxy.EtcdTLS{
		Cert: secure.Cert, Key: secure.Key, ClientCA: secure.ClientCA, Pair: w.pairs.of,
	}, guard)
}

// Wait returns when the Pods' processes have ended, after the end of Start's context.
func (w *World) Wait() error {
	err := <-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, instance := range w.instances {
		instance.end()
	}
	return err
}

// Guard returns the guard of the operator for a namespace.
func (w *World) Guard(namespace string) *proxy.Guard {
	w.mu.Lock()
	defer w.mu.Unlock()
	if guard := w.guards[namespace]; guard != nil {
		return guard
	}
	return w.guards[""]
}

// Instance returns an instance by name, or nil.
func (w *World) Instance(name string) *Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instances[name]
}

func (w *World) notify(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting := w.changed[namespace]; waiting != nil {
		close(waiting)
		delete(w.changed, namespace)
	}
}

func (w *World) nextChange(namespace string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed[namespace] == nil {
		w.changed[namespace] = make(chan struct{})
	}
	return w.changed[namespace]
}

const recheck = 300 * time.Millisecond // for changes without a watch

// Until calls check, again after each change of the namespace, until it returns nil; after limit it returns the last error.
func (w *World) Until(ctx context.Context, namespace string, limit time.Duration, check func() error) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		changed := w.nextChange(namespace)
		complaint := check()
		if complaint == nil {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(recheck):
		case <-deadline.C:
			return fmt.Errorf("after %v: %w", limit, complaint)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), complaint)
		}
	}
}

// MakeNamespace creates a namespace and waits until Pods can be created in it.
func (w *World) MakeNamespace(ctx context.Context, name string) error {
	object := map[string]any{"metadata": map[string]any{"name": name}}
	if err := w.Client.Create(ctx, "/api/v1/namespaces", object); err != nil {
		return err
	}
	return w.Until(ctx, name, 150*time.Second, func() error {
		return w.Client.Get(ctx, kube.Namespaced("/api/v1/serviceaccounts", name, "default"), &kube.Object{})
	})
}

// folder creates a folder below the world's.
func (w *World) folder(parts ...string) (string, error) {
	path := filepath.Join(append([]string{w.Dir}, parts...)...)
	return path, os.MkdirAll(path, 0o755)
}
