package plans

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/proxy"
)

const (
	snapshotName  = "s"
	snapshotClaim = "backups"
)

// writesSnapshots picks the writes that only clusters with snapshots have.
func writesSnapshots(write *proxy.Write) bool {
	resource, _, _ := strings.Cut(write.Target, "/")
	return write.Side == proxy.API && (resource == "jobs" || resource == "etcdsnapshots")
}

// takeSnapshot takes a snapshot into a volume and waits for it: one Job makes one file, which matches the status.
func takeSnapshot(ctx context.Context, e *Env, replicas int) error {
	claim := map[string]any{
		"metadata": map[string]any{"name": snapshotClaim},
		"spec": map[string]any{
			"accessModes": []string{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		},
	}
	snapshot := map[string]any{
		"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdSnapshot",
		"metadata": map[string]any{"name": snapshotName},
		"spec": map[string]any{
			"clusterRef": ref(clusterName), "destination": map[string]any{"pvc": map[string]any{"claimName": snapshotClaim}},
		},
	}
	err := errors.Join(e.Client.Create(ctx, kube.Namespaced(kube.PVCs, e.Namespace), claim),
		e.Client.Create(ctx, kube.Namespaced(kube.EtcdSnapshots, e.Namespace), snapshot))
	if err != nil {
		return err
	}
	stored := func() error { return e.snapshotComplaint(ctx) }
	if err := e.Until(ctx, e.Namespace, converge, stored); err != nil {
		return err
	}
	if err := e.Settled(ctx, replicas); err != nil {
		return err
	}
	return stored()
}

// snapshotComplaint returns what is not yet as wanted.
func (e *Env) snapshotComplaint(ctx context.Context) error {
	var snapshot kube.EtcdSnapshot
	if err := e.Client.Get(ctx, kube.Namespaced(kube.EtcdSnapshots, e.Namespace, snapshotName), &snapshot); err != nil {
		return err
	}
	if snapshot.Status.Phase != "Complete" {
		return fmt.Errorf("the snapshot is %q: %+v", snapshot.Status.Phase, snapshot.Status.Conditions)
	}
	var jobs struct{ Items []kube.Object }
	if err := e.Client.Get(ctx, kube.Namespaced(kube.Jobs, e.Namespace), &jobs); err != nil {
		return err
	}
	if len(jobs.Items) != 1 {
		return fmt.Errorf("%d Jobs were made", len(jobs.Items))
	}
	claim := e.Kubelet.PVCs.Get(e.Namespace, snapshotClaim)
	if claim == nil {
		return fmt.Errorf("there is no PVC %s", snapshotClaim)
	}
	file := filepath.Join(e.Kubelet.Dir, "volumes", claim.Metadata.UID, snapshotName+".db")
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	told := snapshot.Status.Artifact
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); told.Checksum != sum || told.Size != int64(len(content)) {
		return fmt.Errorf("the status tells of %+v, there are %d bytes, %s", told, len(content), sum)
	}
	return nil
}
