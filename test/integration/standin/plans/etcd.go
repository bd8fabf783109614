package plans

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/wire"
)

// The ports where a Pod's etcd listens behind the proxies: calls of the tests are not the operator's. At frontPort they would count
// as the operator's.
const (
	etcdPort    = "12379"
	peerPort    = "12380"
	frontPort   = "2379"
	etcdTimeout = 20 * time.Second
	// openTimeout covers all ways in, and reading the Secrets for them.
	openTimeout = 40 * time.Second
)

type etcdMember struct {
	ID        uint64
	Name      string
	IsLearner bool
}

type memberList struct {
	ClusterID string // as in the API
	Members   []etcdMember
}

// The first field of each answer is its header.
func clusterOf(answer wire.Fields) (string, error) {
	header, err := wire.Parse([]byte(answer.Text(1)))
	return fmt.Sprintf("%016x", header.Numbers[1]), err
}

func memberOf(text string) (etcdMember, error) {
	member, err := wire.Parse([]byte(text))
	learner := member.Numbers[5] != 0
	return etcdMember{ID: member.Numbers[1], Name: member.Text(2), IsLearner: learner}, err
}

// members reads a linearizable list.
func (c *etcdClient) members(ctx context.Context, pod *kube.Pod) (list memberList, err error) {
	var request wire.Message
	request.Flag(1, true)
	answer, err := c.call(ctx, pod, "Cluster/MemberList", request)
	if err != nil {
		return list, err
	}
	list.ClusterID, err = clusterOf(answer)
	for _, text := range answer.Texts[2] {
		member, failed := memberOf(text)
		list.Members, err = append(list.Members, member), errors.Join(err, failed)
	}
	return list, err
}

func (c *etcdClient) addLearner(ctx context.Context, pod *kube.Pod, peerURL string) (
	etcdMember, error) {
	var request wire.Message
	request.Text(1, peerURL)
	request.Flag(2, true)
	answer, err := c.call(ctx, pod, "Cluster/MemberAdd", request)
	if err != nil {
		return etcdMember{}, err
	}
	return memberOf(answer.Text(2))
}

func (c *etcdClient) removeMember(ctx context.Context, pod *kube.Pod, id uint64) error {
	var request wire.Message
	request.Number(1, id)
	_, err := c.call(ctx, pod, "Cluster/MemberRemove", request)
	return err
}

// put returns the ID of the cluster that acknowledged it.
func (c *etcdClient) put(ctx context.Context, pod *kube.Pod, key, value string) (string, error) {
	var request wire.Message
	request.Text(1, key)
	request.Text(2, value)
	answer, err := c.call(ctx, pod, "KV/Put", request)
	if err != nil {
		return "", err
	}
	return clusterOf(answer)
}

// keys lists the keys in [from, end).
func (c *etcdClient) keys(ctx context.Context, pod *kube.Pod, from, end string) (
	map[string]bool, error) {
	answer, err := c.call(ctx, pod, "KV/Range", rangeRequest(from, end))
	found := map[string]bool{}
	for _, text := range answer.Texts[2] {
		pair, failed := wire.Parse([]byte(text))
		found[pair.Text(1)], err = true, errors.Join(err, failed)
	}
	return found, err
}

func rangeRequest(from, end string) (request wire.Message) {
	request.Text(1, from)
	request.Text(2, end)
	request.Flag(8, true) // keys only
	return request
}

const (
	keyPrefix = "written/"
	keysEnd   = "written0" // the first key after all keys with the prefix
	keyEvery  = 250 * time.Millisecond
)

// writer writes key after key and records the acknowledged ones, and the cluster IDs in the answers' headers.
type writer struct {
	etcd *etcdClient
	pods func() []*kube.Pod

	mu       sync.Mutex
	acked    map[string]bool
	clusters map[string]bool // IDs, hexadecimal
	stop     context.CancelFunc
	done     chan struct{}
}

func startWriter(ctx context.Context, etcd *etcdClient, pods func() []*kube.Pod) *writer {
	ctx, stop := context.WithCancel(ctx)
	w := &writer{
		etcd: etcd, pods: pods, acked: map[string]bool{}, clusters: map[string]bool{},
		stop: stop, done: make(chan struct{}),
	}
	go w.run(ctx)
	return w
}

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	ticks := time.NewTicker(keyEvery)
	defer ticks.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			w.put(ctx, fmt.Sprintf("%s%06d", keyPrefix, n))
		}
	}
}

func (w *writer) put(ctx context.Context, key string) {
	running := slices.DeleteFunc(w.pods(),
		func(pod *kube.Pod) bool { return pod.Status.Phase != "Running" })
	if len(running) == 0 {
		return
	}
	if cluster, err := w.etcd.put(ctx, running[rand.IntN(len(running))], key, "x"); err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acked[key] = true
		w.clusters[cluster] = true
	}
}

// end stops writing.
func (w *writer) end() {
	w.stop()
	<-w.done
}

func (w *writer) sawCluster(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[id] = true
}

// check fails if an acknowledged key is missing, or if more than one cluster answered.
func (w *writer) check(ctx context.Context, pod *kube.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, err := w.etcd.keys(ctx, pod, keyPrefix, keysEnd)
	if err != nil {
		return err
	}
	for key := range w.acked {
		if !found[key] {
			return fmt.Errorf("%s was acknowledged and is not there; %d of %d keys are", key, len(found), len(w.acked))
		}
	}
	if len(w.clusters) > 1 {
		return fmt.Errorf("there were several cluster ids: %v", w.clusters)
	}
	return nil
}
