package plans

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"etcdop.test/standin/kube"
)

// etcdPort is where a Pod's etcd listens behind the proxy: what the tests ask is not the operator's.
const (
	etcdPort    = "12379"
	etcdTimeout = 2 * time.Second
)

// call speaks JSON to etcd's gateway.
func call(ctx context.Context, ip, path string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ip+":"+etcdPort+"/v3/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return fmt.Errorf("etcd %s: %d %s", path, response.StatusCode, text)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

type header struct {
	ClusterID string `json:"cluster_id"`
}

type etcdMember struct {
	ID        string
	Name      string
	IsLearner bool `json:"isLearner"`
}

type memberList struct {
	Header  header
	Members []etcdMember
}

// members is a linearizable list.
func members(ctx context.Context, ip string) (memberList, error) {
	var list memberList
	err := call(ctx, ip, "cluster/member/list", map[string]any{"linearizable": true}, &list)
	return list, err
}

// hexID turns the gateway's decimal id into the form of the API.
func hexID(decimal string) string {
	id, err := strconv.ParseUint(decimal, 10, 64)
	if err != nil {
		return decimal
	}
	return fmt.Sprintf("%016x", id)
}

const (
	keyPrefix = "written/"
	keyEvery  = 250 * time.Millisecond
)

// writer writes key after key and remembers those that etcd acknowledged, and what the answers' headers said.
type writer struct {
	pods func() []*kube.Pod

	mu       sync.Mutex
	acked    map[string]bool
	clusters map[string]bool // ids, hexadecimal
	stop     context.CancelFunc
	done     chan struct{}
}

func startWriter(ctx context.Context, pods func() []*kube.Pod) *writer {
	ctx, stop := context.WithCancel(ctx)
	w := &writer{pods: pods, acked: map[string]bool{}, clusters: map[string]bool{}, stop: stop, done: make(chan struct{})}
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
	var ips []string
	for _, pod := range w.pods() {
		if pod.Status.Phase == "Running" {
			ips = append(ips, pod.Status.PodIP)
		}
	}
	if len(ips) == 0 {
		return
	}
	var answer struct{ Header header }
	request := map[string]any{"key": []byte(key), "value": []byte("x")}
	if call(ctx, ips[rand.IntN(len(ips))], "kv/put", request, &answer) == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acked[key] = true
		w.clusters[hexID(answer.Header.ClusterID)] = true
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

// check complains when an acknowledged key is not there, or there was more than one cluster.
func (w *writer) check(ctx context.Context, ip string) error {
	var answer struct{ KVs []struct{ Key string } }
	request := map[string]any{"key": []byte(keyPrefix), "range_end": []byte("written0"), "keys_only": true}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := call(ctx, ip, "kv/range", request, &answer); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, kv := range answer.KVs {
		key, err := base64.StdEncoding.DecodeString(kv.Key)
		if err != nil {
			return err
		}
		found[string(key)] = true
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
