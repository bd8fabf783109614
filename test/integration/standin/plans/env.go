// Package plans drives an operator through user actions on clusters, kills it at each of its writes, and checks the final state.
package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/proxy"
	"etcdop.test/standin/world"
)

const (
	clusterName = "c"
	roleLabel   = "etcd-operator.cozystack.io/role"
	jobLabel    = "batch.kubernetes.io/job-name"
	// converge is how long a cluster may take to reach the wanted state, kills included.
	converge = 400 * time.Second
	// rest is how long an operator must not write to count as at rest. restLimit is how long it may take to get there, and until all
	// members were polled once more: on a busy machine an answer may come too late, and is asked for again.
	rest      = 1200 * time.Millisecond
	restLimit = 2 * time.Minute
)

// Env is a namespace with its own operator, and the cluster in it.
type Env struct {
	*world.World
	Namespace string
	Operator  *world.Instance
	Version   string
	etcd      *etcdClient
	writer    *writer
}

// pods returns the Pods of members, not those of Jobs.
func (e *Env) pods() []*kube.Pod {
	return slices.DeleteFunc(e.Kubelet.Pods.In(e.Namespace),
		func(pod *kube.Pod) bool { return pod.Metadata.Labels[jobLabel] != "" })
}

func (e *Env) cluster() *kube.EtcdCluster { return e.Clusters.Get(e.Namespace, clusterName) }

// Guard is the guard that the operator's requests pass.
func (e *Env) Guard() *proxy.Guard { return e.Operator.Guard }

// Create creates the cluster; edit, if not nil, changes its spec first.
func (e *Env) Create(ctx context.Context, replicas int, edit func(spec map[string]any)) error {
	spec := map[string]any{"replicas": replicas, "version": e.Version, "storage": map[string]any{"size": "1Gi"}}
	if edit != nil {
		edit(spec)
	}
	object := map[string]any{
		"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster",
		"metadata": map[string]any{"name": clusterName, "namespace": e.Namespace}, "spec": spec,
	}
	return e.Client.Create(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace), object)
}

// Scale changes the wanted size.
func (e *Env) Scale(ctx context.Context, replicas int) error {
	patch := map[string]any{"spec": map[string]any{"replicas": replicas}}
	return e.Client.Patch(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace, clusterName), patch)
}

// Delete deletes the cluster, as kubectl does.
func (e *Env) Delete(ctx context.Context) error {
	e.writer.end()
	options := map[string]any{"propagationPolicy": "Background"}
	return e.Client.Delete(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace, clusterName), options)
}

// Settled waits until the cluster has as many healthy voters as wanted and nothing else, and the operator is at rest.
func (e *Env) Settled(ctx context.Context, replicas int) error {
	return e.atRest(ctx, func() error { return e.complaint(ctx, replicas) })
}

// Gone waits until nothing of the cluster is left.
func (e *Env) Gone(ctx context.Context) error { return e.atRest(ctx, e.leftover) }

func (e *Env) atRest(ctx context.Context, check func() error) error {
	if err := e.Until(ctx, e.Namespace, converge, check); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, restLimit, func() error {
		if quiet := e.Guard().Quiet(); quiet < rest {
			return errors.New("the operator still writes: " + lastWrite(e.Guard().Writes()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.Until(ctx, e.Namespace, restLimit, check); err != nil {
		return fmt.Errorf("it did not stay: %w", err)
	}
	return nil
}

func lastWrite(writes []proxy.Write) string {
	if len(writes) == 0 {
		return "none"
	}
	last := writes[len(writes)-1]
	return fmt.Sprintf("%s (answer %d)", last.Name(), last.Code)
}

func names[T any, P kube.Kind[T]](objects []P) []string {
	list := []string{}
	for _, object := range objects {
		list = append(list, object.Meta().Name)
	}
	slices.Sort(list)
	return list
}

// complaint returns what is not yet as wanted. It checks the caches first, and makes calls last.
func (e *Env) complaint(ctx context.Context, replicas int) error {
	cluster := e.cluster()
	if cluster == nil {
		return errors.New("there is no EtcdCluster")
	}
	for _, member := range e.Members.In(e.Namespace) {
		if member.Metadata.DeletionTimestamp != nil {
			return fmt.Errorf("EtcdMember %s is being deleted", member.Metadata.Name)
		}
	}
	want := names(e.Members.In(e.Namespace))
	if len(want) != replicas {
		return fmt.Errorf("%d EtcdMembers, not %d: %v", len(want), replicas, want)
	}
	if got := names(e.pods()); !slices.Equal(got, want) {
		return fmt.Errorf("Pods %v for EtcdMembers %v", got, want)
	}
	claims := names(e.Kubelet.PVCs.In(e.Namespace))
	claims = slices.DeleteFunc(claims, func(name string) bool { return name == snapshotClaim }) // a user's
	for i := range claims {
		claims[i] = strings.TrimPrefix(claims[i], "data-")
	}
	if !slices.Equal(claims, want) {
		return fmt.Errorf("PVCs data-%v for EtcdMembers %v", claims, want)
	}
	for _, pod := range e.pods() {
		if !isReady(pod) || pod.Metadata.DeletionTimestamp != nil {
			return fmt.Errorf("Pod %s is not Ready, or being deleted", pod.Metadata.Name)
		}
		if pod.Metadata.Labels[roleLabel] != "voter" {
			return fmt.Errorf("Pod %s lacks the label %s=voter", pod.Metadata.Name, roleLabel)
		}
	}
	for _, service := range []string{clusterName, clusterName + "-client"} {
		if e.Services.Get(e.Namespace, service) == nil {
			return fmt.Errorf("there is no Service %s", service)
		}
	}
	if got := cluster.Status.ReadyMembers; got != replicas {
		return fmt.Errorf("status.readyMembers is %d, not %d", got, replicas)
	}
	for kind, status := range map[string]string{"Available": "True/", "Degraded": "False/", "Progressing": "False/Reconciled"} {
		if got := cluster.Condition(kind); !strings.HasPrefix(got, status) {
			return fmt.Errorf("condition %s is %q, not %s", kind, got, status)
		}
	}
	return e.etcdComplaint(ctx, cluster, want)
}

func isReady(pod *kube.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c kube.Condition) bool { return c.Type == "Ready" && c.Status == "True" })
}

// etcdComplaint asks every member: each must list the same voters.
func (e *Env) etcdComplaint(ctx context.Context, cluster *kube.EtcdCluster, want []string) error {
	for _, pod := range e.pods() {
		list, err := e.etcd.members(ctx, pod)
		if err != nil {
			return err
		}
		var voters []string
		for _, member := range list.Members {
			if member.IsLearner {
				return fmt.Errorf("%s says that %s is a learner", pod.Metadata.Name, member.Name)
			}
			voters = append(voters, member.Name)
		}
		slices.Sort(voters)
		if !slices.Equal(voters, want) {
			return fmt.Errorf("%s says that the voters are %q, not %q", pod.Metadata.Name, voters, want)
		}
		e.writer.sawCluster(list.ClusterID)
		if got := cluster.Status.ClusterID; got != list.ClusterID {
			return fmt.Errorf("status.clusterID is %q, %s says %s", got, pod.Metadata.Name, list.ClusterID)
		}
		if err := e.etcd.open(ctx, pod); err != nil {
			return err
		}
	}
	if len(want) == 0 {
		return nil
	}
	return e.writer.check(ctx, e.pods()[0])
}

// leftover returns what still exists of the cluster.
func (e *Env) leftover() error {
	for kind, left := range map[string][]string{
		"EtcdCluster": names(e.Clusters.In(e.Namespace)), "EtcdMember": names(e.Members.In(e.Namespace)), "Pod": names(e.pods()),
		"PVC": names(e.Kubelet.PVCs.In(e.Namespace)), "Service": names(e.Services.In(e.Namespace)), "PDB": names(e.PDBs.In(e.Namespace)),
	} {
		if len(left) > 0 {
			return fmt.Errorf("%s %v is left", kind, left)
		}
	}
	return nil
}

// final checks what no run may do, however it went. clusters is how many members may have founded a cluster.
func (e *Env) final(clusters int) error {
	if crashes := e.Operator.Crashes(); crashes > 0 {
		return fmt.Errorf("the operator ended by itself %d times", crashes)
	}
	seeds := map[string]bool{}
	for _, birth := range e.Kubelet.Births(e.Namespace) {
		if birth.State == "new" {
			seeds[birth.Pod] = true
		}
	}
	if len(seeds) > clusters {
		return fmt.Errorf("%d members began a cluster: %v", len(seeds), seeds)
	}
	return nil
}
