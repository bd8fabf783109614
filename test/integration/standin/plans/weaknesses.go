package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/proxy"
)

// The Go operator's weaknesses (design, section 9), on a real API server and real etcds. docs/dev/safety.md lists where each is
// tested.

// says waits until a condition of the cluster has one of these values.
func (e *Env) says(ctx context.Context, kind string, wanted ...string) error {
	return e.Until(ctx, e.Namespace, converge, func() error {
		if cluster := e.cluster(); cluster != nil && slices.Contains(wanted, cluster.Condition(kind)) {
			return nil
		}
		return fmt.Errorf("condition %s is not %v", kind, wanted)
	})
}

// same returns an error if members or volumes changed, by UID.
func (e *Env) same() func() error {
	look := func() []string {
		var list []string
		for _, member := range e.Members.In(e.Namespace) {
			list = append(list, "EtcdMember "+member.Metadata.UID)
		}
		for _, claim := range e.Kubelet.PVCs.In(e.Namespace) {
			list = append(list, "PVC "+claim.Metadata.UID)
		}
		slices.Sort(list)
		return list
	}
	before := look()
	return func() error {
		if now := look(); !slices.Equal(before, now) {
			return fmt.Errorf("there were %v and are %v", before, now)
		}
		return nil
	}
}

// allCrash kills every etcd more often than the Go operator tolerates before it deletes members.
func allCrash(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	same := e.same()
	for range 6 {
		for _, pod := range e.pods() {
			e.Kubelet.Signal(e.Namespace, pod.Metadata.Name, syscall.SIGKILL)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if err := same(); err != nil {
			return err
		}
	}
	return errors.Join(e.Settled(ctx, 3), same())
}

// statusFollows freezes two of three members: the status reports it, and later the recovery.
func statusFollows(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	same := e.same()
	frozen := names(e.pods())[:2]
	for _, name := range frozen {
		e.Kubelet.Signal(e.Namespace, name, syscall.SIGSTOP)
	}
	err := errors.Join(
		e.says(ctx, "Available", "False/QuorumLost", "Unknown/ClusterUnreachable", "False/ClusterUnreachable"),
		e.says(ctx, "Degraded", "True/QuorumLost"),
		e.Until(ctx, e.Namespace, converge, func() error {
			if ready := e.cluster().Status.ReadyMembers; ready > 1 {
				return fmt.Errorf("%d members are told ready", ready)
			}
			return nil
		}))
	for _, name := range frozen {
		e.Kubelet.Signal(e.Namespace, name, syscall.SIGCONT)
	}
	return errors.Join(err, e.Settled(ctx, 3), same())
}

// budgetAtOnce checks the budget as soon as the first member exists.
func budgetAtOnce(ctx context.Context, e *Env) error {
	if err := e.Create(ctx, 3, nil); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if len(e.Members.In(e.Namespace)) == 0 {
			return errors.New("there is no EtcdMember")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, write := range e.Guard().Writes() {
		switch {
		case strings.HasPrefix(write.Kind(), "POST poddisruptionbudgets/"):
			return e.Settled(ctx, 3)
		case strings.HasPrefix(write.Kind(), "POST etcdmembers/"):
			return errors.New("the EtcdMember was made before its budget")
		}
	}
	return errors.New("no budget was made")
}

// endedPod marks a Pod as failed, as a kubelet does when it evicts it.
func endedPod(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	same := e.same()
	pod := e.pods()[0].Metadata
	failed := map[string]any{"status": map[string]any{"phase": "Failed", "reason": "Evicted"}}
	if err := e.Client.Patch(ctx, pod.Path(kube.Pods, "status"), failed); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if now := e.Kubelet.Pods.Get(e.Namespace, pod.Name); now == nil || now.Metadata.UID == pod.UID {
			return errors.New("the Pod that failed is still there")
		}
		return nil
	})
	return errors.Join(err, e.Settled(ctx, 3), same())
}

// bornLate gets its image only after the cluster's progress deadline.
func bornLate(ctx context.Context, e *Env) error {
	e.Kubelet.SetImages(e.Namespace, false)
	if err := e.Create(ctx, 1, func(spec map[string]any) { spec["progressDeadlineSeconds"] = 10 }); err != nil {
		return err
	}
	if err := e.says(ctx, "Progressing", "False/BootstrapFailed"); err != nil {
		return err
	}
	if e.cluster().Condition("Available") != "False/BootstrapFailed" {
		return errors.New("it is not told that the cluster is not there")
	}
	e.Kubelet.SetImages(e.Namespace, true)
	return e.Settled(ctx, 1)
}

// foreignLearner adds a foreign learner that never starts: the operator reports it, and a user removes it before the cluster grows.
func foreignLearner(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 1); err != nil {
		return err
	}
	pod := e.pods()[0]
	added, err := e.etcd.addLearner(ctx, pod, "http://192.0.2.1:2380")
	if err != nil {
		return err
	}
	if err := e.Scale(ctx, 3); err != nil {
		return err
	}
	// K15: only one learner can exist at a time, so it blocks growth until a user removes it.
	if err := e.says(ctx, "Degraded", "True/ForeignMember"); err != nil {
		return err
	}
	if err := e.etcd.removeMember(ctx, pod, added.ID); err != nil {
		return fmt.Errorf("it did not stay for a person to remove: %w", err)
	}
	return e.Settled(ctx, 3)
}

// oddTemplates creates EtcdClusters whose podTemplate crashed an earlier build, or hid all clusters from it after a restart, and
// restarts the operator: the other clusters are served.
func oddTemplates(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 1); err != nil {
		return err
	}
	nested := func(levels int) any {
		var value any = "x"
		for range levels {
			value = map[string]any{"a": value}
		}
		return value
	}
	twice := func(value int) any {
		return map[string]any{"name": "s", "x": map[string]any{"env": []any{value}}}
	}
	odd := map[string]any{
		"twice":  map[string]any{"containers": []any{twice(1), twice(2)}},
		"deep":   map[string]any{"x": nested(28)},
		"deeper": map[string]any{"x": nested(1000)},
	}
	for name, template := range odd {
		object := map[string]any{
			"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster",
			"metadata": map[string]any{"name": name, "namespace": e.Namespace},
			"spec": map[string]any{
				"replicas": 1, "version": e.Version, "storage": map[string]any{"size": "1Gi"},
				"podTemplate": map[string]any{"spec": template},
			},
		}
		if err := e.Client.Create(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace), object); err != nil {
			return err
		}
	}
	e.Operator.Kill()
	if err := e.scaled(ctx, 3); err != nil {
		return err
	}
	for name := range odd {
		if told := e.Clusters.Get(e.Namespace, name).Condition("Progressing"); told != "False/PodTemplateConflict" {
			return fmt.Errorf("%s: Progressing is %q", name, told)
		}
	}
	if err := editedTooDeep(ctx, e, map[string]any{"spec": odd["deeper"]}); err != nil {
		return err
	}
	for name := range odd {
		if err := e.Client.Delete(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace, name), nil); err != nil {
			return err
		}
	}
	return nil
}

// editedTooDeep edits a running cluster to a template that is nested too deeply, and restarts the operator: a lost Pod comes back
// as it was before.
func editedTooDeep(ctx context.Context, e *Env, template any) error {
	edit := func(to any) error {
		patch := map[string]any{"spec": map[string]any{"podTemplate": to}}
		return e.Client.Patch(ctx, kube.Namespaced(kube.EtcdClusters, e.Namespace, clusterName), patch)
	}
	if err := edit(template); err != nil {
		return err
	}
	if err := e.says(ctx, "Progressing", "False/PodTemplateConflict"); err != nil {
		return err
	}
	e.Operator.Kill()
	lost := e.pods()[0]
	if err := e.Client.Delete(ctx, kube.Namespaced(kube.Pods, e.Namespace, lost.Metadata.Name), nil); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if slices.ContainsFunc(e.pods(), func(pod *kube.Pod) bool { return pod.Metadata.UID == lost.Metadata.UID }) {
			return errors.New("the Pod is not yet deleted")
		}
		return e.allReady(3)
	})
	if err != nil {
		return err
	}
	if err := edit(nil); err != nil {
		return err
	}
	return e.Settled(ctx, 3)
}

// restFor is how long a cluster at rest is watched: it includes at least one regular look.
const restFor = 90 * time.Second

func nothingAtRest(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	var writes []proxy.Write
	for range 4 { // On a busy machine an etcd that is late elects another leader, and that is told.
		e.Guard().Begin("rest", nil)
		if err := pause(ctx, restFor); err != nil {
			return err
		}
		if writes = e.Guard().Writes(); len(writes) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d writes at rest, the last: %s", len(writes), lastWrite(writes))
}

// foreignService creates a Service with our name that the operator does not own.
func foreignService(ctx context.Context, e *Env) error {
	name := clusterName + "-client"
	service := map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"selector": map[string]any{"app": "theirs"}, "ports": []any{map[string]any{"port": 80}}},
	}
	if err := e.Client.Create(ctx, kube.Namespaced(kube.Services, e.Namespace), service); err != nil {
		return err
	}
	if err := e.Create(ctx, 1, nil); err != nil {
		return err
	}
	words := "Service " + name + " has no owner"
	err := e.Until(ctx, e.Namespace, converge, func() error {
		cluster := e.cluster()
		if cluster == nil || !slices.ContainsFunc(cluster.Status.Conditions,
			func(c kube.Condition) bool { return strings.Contains(c.Message, words) }) {
			return fmt.Errorf("no condition says %q", words)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if members := e.Members.In(e.Namespace); len(members) > 0 {
		return fmt.Errorf("%v was made all the same", names(members))
	}
	path := kube.Namespaced(kube.Services, e.Namespace, name)
	var now struct {
		Spec struct{ Selector map[string]string }
	}
	if err := e.Client.Get(ctx, path, &now); err != nil {
		return err
	}
	if now.Spec.Selector["app"] != "theirs" || len(now.Spec.Selector) != 1 {
		return fmt.Errorf("its selector is %v now", now.Spec.Selector)
	}
	if err := e.Client.Delete(ctx, path, nil); err != nil {
		return err
	}
	return e.Settled(ctx, 1)
}

// full fills the database: Pods stay ready, so clients can read, and compact, through the Service.
func full(ctx context.Context, e *Env) error {
	err := e.Create(ctx, 1, func(spec map[string]any) {
		spec["options"] = map[string]any{"quotaBackendBytes": 1 << 20}
	})
	if err != nil {
		return err
	}
	if err := e.Settled(ctx, 1); err != nil {
		return err
	}
	e.writer.end()
	pod := e.pods()[0]
	value := strings.Repeat("A", 96<<10)
	// etcd updates the size of its file with each commit, every 100 ms: a fast machine writes dozens of values in between.
	isFull := func() error {
		var last error
		for i := range 1000 {
			_, last = e.etcd.put(ctx, pod, fmt.Sprintf("key%04d", i), value)
			if refusedWith(last, "database space exceeded") {
				return nil
			}
		}
		return fmt.Errorf("1000 values of 96 kB do not fill a megabyte; the last answer: %w", cmp.Or(last, errors.New("none refused")))
	}
	if err := isFull(); err != nil {
		return err
	}
	for range 10 {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		now := e.Kubelet.Pods.Get(e.Namespace, pod.Metadata.Name)
		if now == nil || now.Metadata.UID != pod.Metadata.UID || !isReady(now) {
			return errors.New("the Pod of a full etcd is not ready, or not the same")
		}
	}
	if got := e.cluster().Condition("Available"); !strings.HasPrefix(got, "True/") {
		return fmt.Errorf("Available is %s", got)
	}
	return nil
}

// lateAndServing cannot grow in time because of a quota: it serves, and the operator still repairs it.
func lateAndServing(ctx context.Context, e *Env) error {
	err := e.Create(ctx, 1, func(spec map[string]any) { spec["progressDeadlineSeconds"] = 10 })
	if err == nil {
		err = e.Settled(ctx, 1)
	}
	if err != nil {
		return err
	}
	path := kube.Namespaced("/api/v1/resourcequotas", e.Namespace)
	one := map[string]any{"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"hard": map[string]any{"pods": "1"}}}
	if err := e.Client.Create(ctx, path, one); err != nil {
		return err
	}
	if err := e.inForce(ctx, path+"/one"); err != nil {
		return err
	}
	if err := e.Scale(ctx, 3); err != nil {
		return err
	}
	if err := e.says(ctx, "Progressing", "False/DeadlineExceeded"); err != nil {
		return err
	}
	if got := e.cluster().Condition("Available"); !strings.HasPrefix(got, "True/") {
		return fmt.Errorf("Available is %s", got)
	}
	budget := kube.Namespaced(kube.PDBs, e.Namespace, clusterName)
	if err := e.Client.Delete(ctx, budget, nil); err != nil {
		return err
	}
	err = e.Until(ctx, e.Namespace, converge, func() error {
		if e.PDBs.Get(e.Namespace, clusterName) == nil {
			return errors.New("the budget is not there again")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.Client.Delete(ctx, path+"/one", nil); err != nil {
		return err
	}
	return e.Settled(ctx, 3)
}

// namespaceEnds deletes the namespace: the server creates nothing new in it, and deletes everything in its own order.
func namespaceEnds(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	e.writer.end()
	path := "/api/v1/namespaces/" + e.Namespace
	if err := e.Client.Delete(ctx, path, nil); err != nil {
		return err
	}
	return e.Until(ctx, e.Namespace, converge, func() error {
		var namespace struct {
			Status struct{ Conditions []kube.Condition }
		}
		err := e.Client.Get(ctx, path, &namespace)
		if kube.Code(err) == 404 {
			return nil
		}
		return errors.Join(err, fmt.Errorf("the namespace is still there: %v", namespace.Status.Conditions))
	})
}
