package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/proxy"
)

// Scenarios are the named tests: failures of the Go operator that must not happen to ours, with their numbers in the design. A new
// one is a function and a line here.
var Scenarios = []Case{
	{Name: "stand-in: three members made by hand are a cluster, and one comes back with its data", Run: byHand, NoOperator: true,
		Clusters: 3},
	{Name: "stand-in: by TLS peers know each other by the names of their addresses", NoOperator: true,
		Clusters: 3,
		Run: tlsByHand(kubelet.Named, func(service string) []string {
			return []string{"*." + service, "*." + service + ".cluster.local"}
		})},
	{Name: "stand-in: by TLS peers know each other by the addresses of their Service",
		NoOperator: true, Clusters: 3,
		Run: tlsByHand(kubelet.Refused,
			func(service string) []string { return []string{"*." + service, service} })},
	{Name: "stand-in: with authentication the tests are root, and anonymous callers nobody",
		NoOperator: true, Clusters: 3,
		Run: authByHand},
	{Name: "W1: all etcds end again and again, and nobody is deleted", Run: allCrash},
	{Name: "W2: the status follows the loss of the quorum", Run: statusFollows},
	{Name: "W2: the budget is there before the first member", Run: budgetAtOnce},
	{Name: "W3: a member that somebody removed from etcd is replaced", Run: removedByHand},
	{Name: "W4: members of a deleted cluster leave its namesake alone", Run: namesake, Clusters: 2},
	{Name: "W6: a Pod that has failed is made again", Run: endedPod},
	{Name: "W9: a cluster that is born late is born all the same", Run: bornLate},
	{Name: "W11: a foreign learner is reported, and growth goes on without it", Run: foreignLearner},
	{Name: "W12: a seed is a voter although the operator died right after making it", Run: diesAfterSeed},
	{Name: "W14, W23: at rest nothing is written", Run: nothingAtRest},
	{Name: "W16: a Service that is somebody else's is told and left alone", Run: foreignService},
	{Name: "W21, K15: growing by one learner at a time waits no longer than etcd refuses", Run: noNeedlessRefusal},
	{Name: "N2, N3: an odd podTemplate ends nothing and hides nobody", Run: oddTemplates},
	{Name: "W22, P7: an etcd that is full keeps its Pod ready", Run: full},
	{Name: "W25, W26: a cluster past its deadline serves and is looked after", Run: lateAndServing},
	{Name: "P1: a MemberRemove without an answer holds up nothing", Run: lostRemoval},
	{Name: "P2: a name used again while the operator looks away", Run: namesakeUnseen, Clusters: 2},
	{Name: "P3: an operator that cannot see what it made makes no second seed", Run: blindAfterSeed},
	{Name: "W20, P4: shrinking takes the dead member, not a healthy one", Run: deadGoesFirst},
	{Name: "S39: a namespace ends with its cluster", Run: namespaceEnds},
	{Name: "W8: an emptied password is told, locks nobody out, and the next one is taken", Run: emptied},
	{Name: "W8: a password edited while it is changed is carried through", Run: editedAgain},
	{Name: "bad input: an unknown storage class", Run: unknownClass},
	{Name: "bad input: an image that cannot be pulled", Run: missingImage},
	{Name: "W18, bad input: a quota without Pods", Run: quota},
	{Name: "bad input: a verb that RBAC does not allow", Run: forbidden},
	{Name: "trouble: the API server is gone for a while", Run: apiGone},
	{Name: "trouble: the API server asks to slow down", Run: slowDown},
	{Name: "trouble: an etcd is frozen for a while, and nobody replaces it", Run: frozen},
}

// handMade returns the objects of a member without an operator.
func handMade(namespace, name, version, members string) (claim, pod map[string]any) {
	url := func(port int) string {
		return fmt.Sprintf("http://%s.%s.%s.svc:%d", name, clusterName, namespace, port)
	}
	probe := map[string]any{"httpGet": map[string]any{"path": "/readyz", "port": "metrics"}, "periodSeconds": 1, "timeoutSeconds": 5}
	claim = map[string]any{
		"metadata": map[string]any{"name": "data-" + name},
		"spec": map[string]any{
			"accessModes": []string{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		},
	}
	pod = map[string]any{
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"hostname": name, "subdomain": clusterName, "automountServiceAccountToken": false,
			"containers": []any{map[string]any{
				"name": "etcd", "image": "quay.io/coreos/etcd:v" + version,
				"command": []string{
					"etcd", "--name=" + name, "--data-dir=/var/lib/etcd", "--listen-peer-urls=http://0.0.0.0:2380",
					"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=" + url(2379),
					"--initial-advertise-peer-urls=" + url(2380), "--initial-cluster=" + members, "--initial-cluster-token=t",
					"--initial-cluster-state=new", "--listen-metrics-urls=http://0.0.0.0:2381",
				},
				"ports":          []any{map[string]any{"name": "metrics", "containerPort": 2381}},
				"readinessProbe": probe,
				"volumeMounts":   []any{map[string]any{"name": "data", "mountPath": "/var/lib/etcd"}},
			}},
			"volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data-" + name}}},
		},
	}
	return claim, pod
}

// handMadeMembers is the --initial-cluster of m1 to m3.
func handMadeMembers(namespace string) string {
	var list []string
	for _, name := range []string{"m1", "m2", "m3"} {
		list = append(list,
			fmt.Sprintf("%s=http://%s.%s.%s.svc:2380", name, name, clusterName, namespace))
	}
	return strings.Join(list, ",")
}

// handMadeCluster creates m1 to m3; edit changes each Pod first.
func (e *Env) handMadeCluster(ctx context.Context, edit func(pod map[string]any)) error {
	for _, name := range []string{"m1", "m2", "m3"} {
		claim, pod := handMade(e.Namespace, name, e.Version, handMadeMembers(e.Namespace))
		edit(pod)
		err := errors.Join(e.Client.Create(ctx, kube.Namespaced(kube.PVCs, e.Namespace), claim),
			e.Client.Create(ctx, kube.Namespaced(kube.Pods, e.Namespace), pod))
		if err != nil {
			return err
		}
	}
	return nil
}

func byHand(ctx context.Context, e *Env) error {
	if err := e.handMadeCluster(ctx, func(map[string]any) {}); err != nil {
		return err
	}
	if err := e.Until(ctx, e.Namespace, converge, func() error { return e.allReady(3) }); err != nil {
		return err
	}
	time.Sleep(4 * keyEvery) // for some writes
	first := e.Kubelet.Pods.Get(e.Namespace, "m2").Metadata
	if err := e.Client.Delete(ctx, first.Path(kube.Pods), nil); err != nil {
		return err
	}
	_, again := handMade(e.Namespace, "m2", e.Version, handMadeMembers(e.Namespace))
	err := e.Until(ctx, e.Namespace, converge, func() error {
		return e.Client.Create(ctx, kube.Namespaced(kube.Pods, e.Namespace), again)
	})
	if err != nil {
		return err
	}
	return e.Until(ctx, e.Namespace, converge, func() error {
		pod := e.Kubelet.Pods.Get(e.Namespace, "m2")
		if pod == nil || pod.Metadata.UID == first.UID {
			return errors.New("m2 is not back")
		}
		if err := e.allReady(3); err != nil {
			return err
		}
		return e.writer.check(ctx, pod)
	})
}

func (e *Env) allReady(count int) error {
	ready := slices.DeleteFunc(e.pods(), func(pod *kube.Pod) bool { return !isReady(pod) })
	if len(ready) != count {
		return fmt.Errorf("%d of %d Pods are Ready", len(ready), count)
	}
	return nil
}

// up creates a cluster and waits for it.
func (e *Env) up(ctx context.Context, replicas int) error {
	if err := e.Create(ctx, replicas, nil); err != nil {
		return err
	}
	return e.Settled(ctx, replicas)
}

// scaled changes the size and waits.
func (e *Env) scaled(ctx context.Context, replicas int) error {
	if err := e.Scale(ctx, replicas); err != nil {
		return err
	}
	return e.Settled(ctx, replicas)
}

// removeFromEtcd removes a member behind the operator's back.
func (e *Env) removeFromEtcd(ctx context.Context, name string) error {
	for _, pod := range e.pods() {
		if pod.Metadata.Name == name {
			continue
		}
		list, err := e.etcd.members(ctx, pod)
		if err != nil {
			return err
		}
		for _, member := range list.Members {
			if member.Name == name {
				return e.etcd.removeMember(ctx, pod, member.ID)
			}
		}
	}
	return fmt.Errorf("etcd knows no member %s", name)
}

func removedByHand(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	victim := e.Members.In(e.Namespace)[0].Metadata
	e.Operator.Pause()
	err := e.Until(ctx, e.Namespace, converge, func() error { return e.removeFromEtcd(ctx, victim.Name) })
	if err == nil {
		err = e.Client.Delete(ctx, victim.Path(kube.EtcdMembers), nil)
	}
	e.Operator.Resume()
	if err != nil {
		return err
	}
	return e.Settled(ctx, 3)
}

// replaced deletes the cluster and at once creates another one with its name.
func (e *Env) replaced(ctx context.Context, between func() error) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	old := e.cluster().Metadata.UID
	if err := e.Delete(ctx); err != nil {
		return err
	}
	// The new cluster has its own keys.
	e.writer = startWriter(ctx, e.etcd, func() []*kube.Pod { return nil })
	if err := e.Create(ctx, 3, nil); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if cluster := e.cluster(); cluster == nil || cluster.Metadata.UID == old {
			return errors.New("the new cluster is not seen")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	return e.Settled(ctx, 3)
}

func namesake(ctx context.Context, e *Env) error {
	return e.replaced(ctx, func() error { return nil })
}

func namesakeUnseen(ctx context.Context, e *Env) error {
	return e.replaced(ctx, func() error {
		e.Operator.Pause()
		defer e.Operator.Resume()
		return e.Until(ctx, e.Namespace, converge, func() error {
			for _, member := range e.Members.In(e.Namespace) {
				if member.Metadata.DeletionTimestamp == nil {
					return errors.New("the garbage collector has not come by yet")
				}
			}
			return nil
		})
	})
}

func diesAfterSeed(ctx context.Context, e *Env) error {
	e.Guard().Begin("seed", &proxy.Trigger{Name: "POST etcdmembers/c-1 #1", Fate: proxy.After})
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	return e.fired()
}

// fired returns an error if the trigger has not met its write.
func (e *Env) fired() error {
	select {
	case <-e.Guard().Fired():
		return nil
	default:
		return errMissed
	}
}

// noNeedlessRefusal grows from 1 to 5: etcd has no reason to refuse an addition before the first promotion; after a promotion it
// refuses for a while.
func noNeedlessRefusal(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 1); err != nil {
		return err
	}
	var late error
	for range tries { // A busy machine makes the operator late now and then.
		e.Guard().Begin("grow", nil)
		if err := e.scaled(ctx, 5); err != nil {
			return err
		}
		if late = needlessWait(e.Guard().Writes()); late == nil {
			return nil
		}
		if err := e.scaled(ctx, 1); err != nil {
			return err
		}
	}
	return late
}

const (
	// etcdRefuses is how long etcd refuses to add a member after a promotion (its HealthInterval).
	etcdRefuses = 5 * time.Second
	// askedAgain is how long the operator may then take to ask again.
	askedAgain = 3 * time.Second
)

// needlessWait returns an error for a change of the membership that was first refused, and then took longer than etcd refuses.
func needlessWait(writes []proxy.Write) error {
	refused := map[string]time.Time{}
	for _, write := range writes {
		first, waits := refused[write.Kind()]
		switch {
		case write.Side != proxy.Etcd:
		case write.Refused() && !waits:
			refused[write.Kind()] = write.At
		case write.Accepted() && waits:
			if waited := write.At.Sub(first); waited > etcdRefuses+askedAgain {
				return fmt.Errorf("%s took %v from the first refusal", write.Name(), waited)
			}
			delete(refused, write.Kind())
		}
	}
	return nil
}

func lostRemoval(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	e.Guard().Begin("remove", &proxy.Trigger{Name: "MemberRemove Cluster #1", Fate: proxy.LostAlive})
	if err := e.scaled(ctx, 1); err != nil {
		return err
	}
	return e.fired()
}

// blindFor is how long the operator does not see its own creation.
const blindFor = 3 * time.Second

// blindAfterSeed loses the answer to the seed's creation, and for a while the watch and the reads that would bring it into the
// operator's cache. The operator goes on with a view without a seed: it has listed the EtcdMembers before, and its watch brings
// nothing. Lists are answered: without one the operator founds nothing (K17).
func blindAfterSeed(ctx context.Context, e *Env) error {
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if !e.Guard().Watching("/etcdmembers") {
			return errors.New("the operator does not watch EtcdMembers")
		}
		return nil
	})
	if err != nil {
		return err
	}
	life := e.Operator.PID()
	var rules []int
	for _, blind := range []proxy.Rule{{Path: "/etcdmembers/"}, {Path: "/etcdmembers$", Query: "watch="}} {
		blind.Side, blind.Method, blind.Action = proxy.API, "GET", "stall"
		id, err := e.Guard().AddRule(blind)
		if err != nil {
			return err
		}
		rules = append(rules, id)
	}
	e.Guard().Begin("seed", &proxy.Trigger{Name: "POST etcdmembers/c-1 #1", Fate: proxy.LostAlive})
	if err := e.Create(ctx, 3, nil); err != nil {
		return err
	}
	select {
	case <-e.Guard().Fired():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := pause(ctx, blindFor); err != nil {
		return err
	}
	for _, id := range rules {
		e.Guard().DropRule(id)
	}
	if err := e.Settled(ctx, 3); err != nil {
		return err
	}
	return errors.Join(e.livesOn(life), e.oneSeed())
}

// oneSeed returns an error if another seed ever existed: each created EtcdMember must still exist.
func (e *Env) oneSeed() error {
	made, seeds := 0, 0
	for _, write := range e.Guard().Writes() {
		if write.Accepted() && strings.HasPrefix(write.Kind(), "POST etcdmembers/") {
			made++
		}
	}
	members := e.Members.In(e.Namespace)
	for _, member := range members {
		if member.Spec.Bootstrap {
			seeds++
		}
	}
	if seeds != 1 || made != len(members) {
		return fmt.Errorf("%d EtcdMembers were made, %d are there, %d of them seeds", made, len(members), seeds)
	}
	return nil
}

func deadGoesFirst(ctx context.Context, e *Env) error {
	if err := e.up(ctx, 3); err != nil {
		return err
	}
	members := e.Members.In(e.Namespace)
	victim := slices.MinFunc(members, func(a, b *kube.EtcdMember) int { // the oldest, which the Go operator would keep
		return a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp)
	}).Metadata.Name
	e.Kubelet.Break(e.Namespace, victim)
	err := e.Until(ctx, e.Namespace, converge, func() error { return e.allReady(2) })
	if err != nil {
		return err
	}
	if err := e.scaled(ctx, 2); err != nil {
		return err
	}
	if e.Members.Get(e.Namespace, victim) != nil {
		return fmt.Errorf("%s, which is dead, was kept", victim)
	}
	return e.scaled(ctx, 1)
}
