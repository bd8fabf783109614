package kubelet

import (
	"bytes"
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
	args, at := localize([]string{
		"etcd", "--name=m", "--data-dir=/var/lib/etcd/sub", "--listen-peer-urls=http://0.0.0.0:2380",
		"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://m.c.ns.svc:2379", "--wal-dir=/var/lib/etcdx",
	}, "127.77.0.9", map[string]string{"/var/lib/etcd": "/v/1"})
	want := []string{
		"--name=m", "--data-dir=/v/1/sub", "--listen-peer-urls=http://127.77.0.9:2380",
		"--listen-client-urls=http://127.77.0.9:12379", "--advertise-client-urls=http://m.c.ns.svc:2379", "--wal-dir=/var/lib/etcdx",
	}
	if !slices.Equal(args, want) || at != (moved{client: true}) {
		t.Errorf("%+v, args\n%v, want\n%v", at, args, want)
	}
}

func TestACommandLineWithTLSIsMovedToo(t *testing.T) {
	args, at := localize([]string{
		"etcd", "--listen-peer-urls=https://0.0.0.0:2380", "--listen-client-urls=https://0.0.0.0:2379",
		"--initial-advertise-peer-urls=https://m.c.ns.svc:2380",
		"--cert-file=/etc/etcd/tls/client/tls.crt",
		"--key-file=/etc/etcd/tls/client/tls.key", "--client-cert-auth=true",
		"--trusted-ca-file=/etc/etcd/tls/client/ca.crt",
		"--peer-cert-file=/etc/etcd/tls/peer/tls.crt",
	}, "127.77.0.9", map[string]string{
		"/etc/etcd/tls/client": "/v/c", "/etc/etcd/tls/peer": "/v/p", "/etc/etcd": "/v/all",
	})
	want := []string{
		"--listen-peer-urls=https://127.77.0.9:12380", "--listen-client-urls=https://127.77.0.9:12379",
		"--initial-advertise-peer-urls=https://m.c.ns.svc:2380",
		"--cert-file=/v/c/tls.crt", "--key-file=/v/c/tls.key",
		"--client-cert-auth=true", "--trusted-ca-file=/v/c/ca.crt", "--peer-cert-file=/v/p/tls.crt",
	}
	if !slices.Equal(args, want) {
		t.Errorf("args\n%v, want\n%v", args, want)
	}
	if !at.client || !at.peer || at.secure == nil ||
		*at.secure != (ClientTLS{"/v/c/tls.crt", "/v/c/tls.key", "/v/c/ca.crt"}) {
		t.Errorf("%+v, %+v", at, at.secure)
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

const rcode, answers = 3, 7 // their offsets in a reply

func TestDNSKnowsTheAddressOfAPodAndNothingElse(t *testing.T) {
	network := newNetwork()
	network.setName("m.c.ns.svc", "127.77.0.9")
	for _, name := range []string{"M.c.ns.svc", "m.c.ns.svc.cluster.local"} {
		a := reply(query(name, typeA), network.answer)
		if a[rcode]&15 != 0 || a[answers] != 1 || !net.IP(a[len(a)-4:]).Equal(net.ParseIP("127.77.0.9")) {
			t.Errorf("A: % x", a)
		}
	}
	aaaa := reply(query("m.c.ns.svc", 28), network.answer)
	if aaaa[rcode]&15 != 0 || aaaa[answers] != 0 {
		t.Errorf("AAAA: % x", aaaa)
	}
	if unknown := reply(query("x.c.ns.svc", typeA), network.answer); unknown[rcode]&15 != noName {
		t.Errorf("unknown name: % x", unknown)
	}
	for _, broken := range [][]byte{nil, make([]byte, 12), query("m.c", 1)[:14], append(query("a", 1)[:12], 200, 1)} {
		if got := reply(broken, network.answer); got != nil {
			t.Errorf("reply to % x: % x", broken, got)
		}
	}
}

func TestAHeadlessServiceHasTheAddressesOfItsPods(t *testing.T) {
	network := newNetwork()
	for name, ip := range map[string]string{
		"m1.c.ns.svc": "127.77.0.1", "m2.c.ns.svc": "127.77.0.2",
		"m1.d.ns.svc": "127.77.0.3", "m1.c.other.svc": "127.77.0.4",
	} {
		network.setName(name, ip)
	}
	a := reply(query("c.ns.svc", typeA), network.answer)
	if a[answers] != 2 || !net.IP(a[len(a)-4:]).Equal(net.ParseIP("127.77.0.2")) ||
		!net.IP(a[len(a)-20:len(a)-16]).Equal(net.ParseIP("127.77.0.1")) {
		t.Errorf("A: % x", a)
	}
	if none := reply(query("ns.svc", typeA), network.answer); none[rcode]&15 != noName {
		t.Errorf("a namespace: % x", none)
	}
}

func TestAnAddressIsCalledAsItsNamespaceSays(t *testing.T) {
	network := newNetwork()
	network.setName("m.c.ns.svc", "127.77.0.9")
	const reverse = "9.0.77.127.in-addr.arpa"
	named := reply(query(reverse, typePTR), network.answer)
	if named[answers] != 1 ||
		!bytes.HasSuffix(named, []byte("\x01m\x01c\x02ns\x03svc\x07cluster\x05local\x00")) {
		t.Errorf("PTR: % x", named)
	}
	stranger := reply(query("8.0.77.127.in-addr.arpa", typePTR), network.answer)
	if stranger[rcode]&15 != noName {
		t.Errorf("another address: % x", stranger)
	}
	for mode, code := range map[Reverse]byte{Unknown: noName, Refused: refusing} {
		if err := network.SetReverse("ns", mode); err != nil {
			t.Fatal(err)
		}
		got := reply(query(reverse, typePTR), network.answer)
		if got[rcode]&15 != code || got[answers] != 0 {
			t.Errorf("%s: % x", mode, got)
		}
	}
	if err := network.SetReverse("ns", Silent); err != nil ||
		reply(query(reverse, typePTR), network.answer) != nil {
		t.Errorf("silent: %v", err)
	}
	if network.SetReverse("ns", "loud") == nil {
		t.Error("an answer that there is not")
	}
}

func TestANameStaysWithThePodThatHasItNow(t *testing.T) {
	network := newNetwork()
	network.setName("m.c.ns.svc", "127.77.0.1")
	network.setName("m.c.ns.svc", "127.77.0.2")
	network.dropName("m.c.ns.svc", "127.77.0.1")
	got := network.answer("m.c.ns.svc", typeA)
	if len(got.data) != 1 || !net.IP(got.data[0]).Equal(net.ParseIP("127.77.0.2")) {
		t.Errorf("found: %v", got)
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
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
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
		if limit := k.PullWait(missed); limit != wait { // at the beginning of the wait, all of it is left
			t.Errorf("after %v: up to %v, and it is %v", missed, limit, wait)
		}
		missed += wait
	}
}
