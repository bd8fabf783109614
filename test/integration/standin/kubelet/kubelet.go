// Package kubelet plays scheduler, kubelet and volume provisioner over a real API server: each etcd Pod becomes a real etcd process
// with its own address and name, each Pod with the operator's program a process of it, each PVC a folder.
package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"etcdop.test/standin/kube"
)

const (
	nodes     = 3
	nodesPath = "/api/v1/nodes"
	// maxBackoff times the configured step is the longest time between two restarts, as 5 minutes are 30 times 10 s.
	maxBackoff = 30
)

// Front is a proxy in front of the client port of a Pod's etcd: it listens on address and forwards to behind until it is closed.
// Both ports speak TLS if secure is not nil.
type Front func(pod *kube.Pod, address, behind string, secure *ClientTLS) (io.Closer, error)

// ClientTLS are the files of a client port's TLS. etcd requires client certificates if ClientCA is set.
type ClientTLS struct{ Cert, Key, ClientCA string }

// Config configures a Kubelet.
type Config struct {
	Client    *kube.Client
	Dir       string            // volumes and logs are written below it
	Etcd      map[string]string // binaries by version
	Manager   string            // the program of the operator's image; "": the image cannot be pulled
	ExtraArgs []string          // appended to each etcd's command line
	// ProbeSpeed divides the periods of startup and readiness probes.
	ProbeSpeed int
	// Backoff is the first wait between restarts, and between pulls of a missing image; a kubelet's is 10 s.
	Backoff time.Duration
	Front   Front
	Network *Network
}

// Kubelet plays all Pods and PVCs of an API server.
type Kubelet struct {
	Config
	Pods *kube.Cache[kube.Pod, *kube.Pod]
	PVCs *kube.Cache[kube.PVC, *kube.PVC]
	// secrets reports changes; the data of a Secret is read when it is needed.
	secrets *kube.Cache[kube.Object, *kube.Object]

	mu        sync.Mutex
	runs      map[string]*run // by Pod UID
	volumes   map[string]context.CancelFunc
	hidden    map[string]bool // namespaces whose Pods cannot pull images of etcd
	broken    map[string]bool // Pods, by key, whose container fails whenever it starts
	abandoned map[string]bool // namespaces
	births    map[string][]Birth
	changed   chan struct{} // closed and replaced when a PVC changed
	all       sync.WaitGroup
}

// Birth is an etcd's start on an empty data directory.
type Birth struct {
	Pod   string
	State string // --initial-cluster-state
}

// New creates a Kubelet. observe, if not nil, is called after each change of a Pod or PVC; it must not block.
func New(config Config, observe func(namespace string)) *Kubelet {
	k := &Kubelet{
		Config: config, runs: map[string]*run{}, volumes: map[string]context.CancelFunc{}, hidden: map[string]bool{},
		broken: map[string]bool{}, abandoned: map[string]bool{}, births: map[string][]Birth{}, changed: make(chan struct{}),
	}
	k.Pods = kube.NewCache[kube.Pod](config.Client, kube.Pods, func(pod *kube.Pod, deleted bool) {
		k.podChanged(pod, deleted)
		observe(pod.Metadata.Namespace)
	})
	k.PVCs = kube.NewCache[kube.PVC](config.Client, kube.PVCs, func(claim *kube.PVC, deleted bool) {
		k.claimChanged(claim, deleted)
		observe(claim.Metadata.Namespace)
	})
	k.secrets = kube.NewCache[kube.Object](config.Client, kube.AllSecrets,
		func(secret *kube.Object, _ bool) {
			k.secretChanged(secret)
		})
	return k
}

// Run plays until ctx ends and every process has ended.
func (k *Kubelet) Run(ctx context.Context) error {
	for _, folder := range []string{"volumes", "logs"} {
		if err := os.MkdirAll(filepath.Join(k.Dir, folder), 0o755); err != nil {
			return err
		}
	}
	if err := k.prepare(ctx); err != nil {
		return err
	}
	go k.PVCs.Run(ctx)
	go k.secrets.Run(ctx)
	k.Pods.Run(ctx)
	k.mu.Lock()
	for _, r := range k.runs {
		r.vanish()
	}
	k.mu.Unlock()
	k.all.Wait()
	return nil
}

// prepare creates the nodes and the default StorageClass.
func (k *Kubelet) prepare(ctx context.Context) error {
	for i := 1; i <= nodes; i++ {
		name := nodeName(i)
		node := map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]string{
			"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i),
		}}}
		if err := ignore(http.StatusConflict, k.Client.Create(ctx, nodesPath, node)); err != nil {
			return err
		}
		status := map[string]any{"status": map[string]any{"conditions": []kube.Condition{
			{Type: "Ready", Status: "True", Reason: "KubeletReady", LastTransitionTime: time.Now()},
		}}}
		if err := k.Client.Patch(ctx, nodesPath+"/"+name+"/status", status); err != nil {
			return err
		}
	}
	class := map[string]any{
		"metadata": map[string]any{"name": "standard", "annotations": map[string]string{
			"storageclass.kubernetes.io/is-default-class": "true",
		}},
		"provisioner": provisioner, "allowVolumeExpansion": true,
	}
	return ignore(http.StatusConflict, k.Client.Create(ctx, classesPath, class))
}

func nodeName(i int) string { return fmt.Sprintf("standin-%d", i) }

func ignore(code int, err error) error {
	if kube.Code(err) == code {
		return nil
	}
	return err
}

func (k *Kubelet) podChanged(pod *kube.Pod, deleted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	meta := &pod.Metadata
	r := k.runs[meta.UID]
	switch {
	case deleted && r != nil:
		r.vanish()
	case meta.DeletionTimestamp != nil && r != nil:
		grace := time.Duration(0)
		if meta.DeletionGracePeriodSeconds != nil {
			grace = time.Duration(*meta.DeletionGracePeriodSeconds) * time.Second
		}
		r.terminate(grace)
	case !deleted && r == nil && !k.abandoned[meta.Namespace] && pod.Status.Phase != "Succeeded" && pod.Status.Phase != "Failed":
		r = newRun(k, pod)
		k.runs[meta.UID] = r
		k.all.Go(func() {
			r.play()
			close(r.ended)
			k.mu.Lock()
			delete(k.runs, meta.UID)
			k.mu.Unlock()
		})
		if meta.DeletionTimestamp != nil { // It was terminating when the stand-in started.
			r.terminate(0)
		}
	}
}

// SetImages says whether Pods of a namespace can pull images of etcd.
func (k *Kubelet) SetImages(namespace string, available bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hidden[namespace] = !available
}

// binary returns the program that a container of a Pod in this namespace runs, or "" if its image cannot be pulled.
func (k *Kubelet) binary(namespace string, container *kube.Container) string {
	if isManager(container) {
		return k.Manager
	}
	image := container.Image
	version := strings.TrimPrefix(image[strings.LastIndexByte(image, ':')+1:], "v")
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hidden[namespace] {
		return ""
	}
	return k.Etcd[version]
}

// Played is a Pod as the control interface shows it.
type Played struct {
	Namespace, Name, IP, Log string
	PID                      int `json:",omitempty"`
}

// Running lists the Pods being played.
func (k *Kubelet) Running() []Played {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := []Played{}
	for _, r := range k.runs {
		list = append(list, Played{
			Namespace: r.meta.Namespace, Name: r.meta.Name, IP: r.ip, Log: r.log(), PID: r.pid(),
		})
	}
	return list
}

// Signal sends a signal to a Pod's process; false if none runs.
func (k *Kubelet) Signal(namespace, name string, signal syscall.Signal) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.runs {
		if r.meta.Namespace == namespace && r.meta.Name == name && r.pid() != 0 {
			return syscall.Kill(r.pid(), signal) == nil
		}
	}
	return false
}

// Break makes the container of a Pod, and of later Pods with its name, fail now and at each start.
func (k *Kubelet) Break(namespace, name string) {
	k.mu.Lock()
	k.broken[namespace+"/"+name] = true
	k.mu.Unlock()
	k.Signal(namespace, name, syscall.SIGKILL)
}

func (k *Kubelet) isBroken(meta *kube.Metadata) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken[meta.Key()]
}

// Abandon ends all processes of a namespace at once, deletes its volumes, and ignores its later Pods; its objects stay as they are.
func (k *Kubelet) Abandon(namespace string) {
	k.mu.Lock()
	k.abandoned[namespace] = true
	var ending []*run
	for _, r := range k.runs {
		if r.meta.Namespace == namespace {
			r.vanish()
			ending = append(ending, r)
		}
	}
	k.mu.Unlock()
	for _, r := range ending {
		<-r.ended
	}
	for _, claim := range k.PVCs.In(namespace) {
		os.RemoveAll(k.folder(claim.Metadata.UID))
	}
}

// Births lists each start of an etcd on an empty data directory in one namespace.
func (k *Kubelet) Births(namespace string) []Birth {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Birth(nil), k.births[namespace]...)
}

func (k *Kubelet) born(namespace string, birth Birth) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.births[namespace] = append(k.births[namespace], birth)
}
