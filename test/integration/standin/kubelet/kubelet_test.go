package kubelet

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"etcdop.test/standin/kube"
)

func TestACommandLineIsMovedToThePodsAddressAndFolders(t *testing.T) {
	args, behind := localize([]string{
		"etcd", "--name=m", "--data-dir=/var/lib/etcd/sub", "--listen-peer-urls=http://0.0.0.0:2380",
		"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://m.c.ns.svc:2379", "--wal-dir=/var/lib/etcdx",
	}, "127.77.0.9", map[string]string{"/var/lib/etcd": "/v/1"})
	want := []string{
		"--name=m", "--data-dir=/v/1/sub", "--listen-peer-urls=http://127.77.0.9:2380",
		"--listen-client-urls=http://127.77.0.9:12379", "--advertise-client-urls=http://m.c.ns.svc:2379", "--wal-dir=/var/lib/etcdx",
	}
	if !slices.Equal(args, want) || !behind {
		t.Errorf("behind=%v, args\n%v, want\n%v", behind, args, want)
	}
}

func TestATLSClientPortStaysWhereItIs(t *testing.T) {
	args, behind := localize([]string{"etcd", "--listen-client-urls=https://0.0.0.0:2379"}, "127.77.0.9", nil)
	if behind || args[0] != "--listen-client-urls=https://127.77.0.9:2379" {
		t.Errorf("behind=%v, args %v", behind, args)
	}
}

func query(name string, kind uint16) []byte {
	packet := []byte{7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1}
	for label := range strings.SplitSeq(name, ".") {
		packet = append(append(packet, byte(len(label))), label...)
	}
	packet = binary.BigEndian.AppendUint16(append(packet, 0), kind)
	return append(packet, 0, 1, 0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0) // class IN and an EDNS record
}

func TestDNSKnowsTheAddressOfAPodAndNothingElse(t *testing.T) {
	network := &Network{names: map[string]net.IP{}}
	network.setName("m.c.ns.svc", "127.77.0.9")
	const rcode, answers = 3, 7
	a := reply(query("M.c.ns.svc", 1), network.lookup)
	if a[rcode]&15 != 0 || a[answers] != 1 || !net.IP(a[len(a)-4:]).Equal(net.ParseIP("127.77.0.9")) {
		t.Errorf("A: % x", a)
	}
	if aaaa := reply(query("m.c.ns.svc", 28), network.lookup); aaaa[rcode]&15 != 0 || aaaa[answers] != 0 {
		t.Errorf("AAAA: % x", aaaa)
	}
	if unknown := reply(query("x.c.ns.svc", 1), network.lookup); unknown[rcode]&15 != 3 {
		t.Errorf("unknown name: % x", unknown)
	}
	for _, broken := range [][]byte{nil, make([]byte, 12), query("m.c", 1)[:14], append(query("a", 1)[:12], 200, 1)} {
		if got := reply(broken, network.lookup); got != nil {
			t.Errorf("reply to % x: % x", broken, got)
		}
	}
}

func TestANameStaysWithThePodThatHasItNow(t *testing.T) {
	network := &Network{names: map[string]net.IP{}}
	network.setName("m.c.ns.svc", "127.77.0.1")
	network.setName("m.c.ns.svc", "127.77.0.2")
	network.dropName("m.c.ns.svc", "127.77.0.1")
	if ip := network.lookup("m.c.ns.svc"); !ip.Equal(net.ParseIP("127.77.0.2")) {
		t.Errorf("lookup: %v", ip)
	}
}

func TestProbesTellStartedThenReadyThenUnreadyThenUnlively(t *testing.T) {
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	probe := func(failures int) *kube.Probe {
		var p kube.Probe
		text := `{"httpGet":{"path":"/readyz","port":` + port + `},"timeoutSeconds":1,"successThreshold":1}`
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		p.FailureThreshold = failures
		return &p
	}
	container := &kube.Container{StartupProbe: probe(10), ReadinessProbe: probe(1), LivenessProbe: probe(3)}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	events := make(chan health)
	go watchHealth(ctx, container, host, 1, events)
	for _, want := range []health{started, ready, unready, unlively} {
		if want == unready {
			down.Store(true)
		}
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("event %d, want %d", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("event %d never came", want)
		}
	}
}

func TestNoWaitForAnImageIsLongerThanSaid(t *testing.T) {
	k := &Kubelet{Config: Config{Backoff: time.Second}}
	missed := time.Duration(0)
	for tries := range 10 {
		wait := k.backoff(tries)
		if limit := k.PullWait(missed); limit != wait { // at the beginning of the wait all of it is to come
			t.Errorf("after %v: up to %v, and it is %v", missed, limit, wait)
		}
		missed += wait
	}
}
