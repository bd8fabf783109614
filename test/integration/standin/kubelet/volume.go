package kubelet

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"etcdop.test/standin/kube"
)

const (
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
	provisioner = "etcdop.test/standin"
	// ClassRetry is the interval between looks for a missing StorageClass.
	ClassRetry = time.Second
	// Storage classes with these prefixes are special: "never-…" binds nothing, "slow-5s" binds after five seconds.
	neverPrefix = "never"
	slowPrefix  = "slow-"
)

func (k *Kubelet) folder(uid string) string { return filepath.Join(k.Dir, "volumes", uid) }

// claimChanged binds a new claim; the controller manager's volume binder, which would unbind it, must not run.
func (k *Kubelet) claimChanged(claim *kube.PVC, deleted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.changed)
	k.changed = make(chan struct{})
	uid := claim.Metadata.UID
	stop := k.volumes[uid]
	switch {
	case deleted:
		if stop != nil {
			stop()
			delete(k.volumes, uid)
		}
		os.RemoveAll(k.folder(uid))
	case stop == nil && claim.Metadata.DeletionTimestamp == nil:
		ctx, cancel := context.WithCancel(context.Background())
		k.volumes[uid] = cancel
		go k.bind(ctx, claim)
	}
}

func (k *Kubelet) bind(ctx context.Context, claim *kube.PVC) {
	if err := os.MkdirAll(k.folder(claim.Metadata.UID), 0o700); err != nil {
		slog.Error("volume", "claim", claim.Metadata.Key(), "error", err)
		return
	}
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	if strings.HasPrefix(class, neverPrefix) || class != "" && !k.classFound(ctx, claim, class) {
		return
	}
	if delay, found := strings.CutPrefix(class, slowPrefix); found {
		duration, err := time.ParseDuration(delay)
		if err != nil || !sleep(ctx, duration) {
			return
		}
	}
	status := map[string]any{
		"metadata": map[string]any{"uid": claim.Metadata.UID},
		"status": map[string]any{
			"phase": "Bound", "accessModes": []string{"ReadWriteOnce"}, "capacity": claim.Spec.Resources.Requests,
		},
	}
	for claim.Status.Phase != "Bound" {
		err := k.Client.Patch(ctx, claim.Metadata.Path(kube.PVCs, "status"), status)
		if err == nil || kube.Code(err) == http.StatusNotFound || kube.Code(err) == http.StatusConflict {
			return
		}
		if !sleep(ctx, ClassRetry) {
			return
		}
	}
}

// classFound waits until the storage class exists; like a real provisioner, it reports a missing one.
func (k *Kubelet) classFound(ctx context.Context, claim *kube.PVC, class string) bool {
	for complained := false; ; complained = true {
		err := k.Client.Get(ctx, classesPath+"/"+class, &kube.Object{})
		if err == nil {
			return true
		}
		if kube.Code(err) == http.StatusNotFound && !complained {
			k.event(ctx, involved{"PersistentVolumeClaim", &claim.Metadata},
				"persistentvolume-controller", "ProvisioningFailed",
				fmt.Sprintf("storageclass.storage.k8s.io %q not found", class))
		}
		if !sleep(ctx, ClassRetry) {
			return false
		}
	}
}

// involved is the object of an event.
type involved struct {
	kind string
	meta *kube.Metadata
}

func (k *Kubelet) event(ctx context.Context, of involved, component, reason, message string) {
	now := time.Now().UTC().Format(time.RFC3339)
	event := map[string]any{
		"metadata": map[string]any{"generateName": of.meta.Name + "-", "namespace": of.meta.Namespace},
		"type":     "Warning", "reason": reason, "message": message,
		"firstTimestamp": now, "lastTimestamp": now,
		"count": 1, "source": map[string]any{"component": component},
		"involvedObject": map[string]any{
			"apiVersion": "v1", "kind": of.kind, "name": of.meta.Name,
			"namespace": of.meta.Namespace, "uid": of.meta.UID,
		},
	}
	path := kube.Namespaced("/api/v1/events", of.meta.Namespace)
	if err := k.Client.Create(ctx, path, event); err != nil {
		slog.Warn("event", "error", err)
	}
}
