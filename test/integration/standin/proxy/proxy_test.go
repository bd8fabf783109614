package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"etcdop.test/standin/kube"
)

func TestAWriteIsNamedAlikeInEachRun(t *testing.T) {
	const base = "/apis/etcd-operator.cozystack.io/v1alpha2/namespaces/ns/"
	cases := []struct{ method, path, body, want string }{
		{"PATCH", base + "etcdmembers/c-bx24k/status", "", "PATCH etcdmembers/c-1/status"},
		{"POST", base + "etcdmembers", `{"metadata":{"name":"c-zzzzz"}}`, "POST etcdmembers/c-2"},
		{"DELETE", "/api/v1/namespaces/ns/pods/c-bx24k", "", "DELETE pods/c-1"},
		{"DELETE", "/api/v1/namespaces/ns/persistentvolumeclaims/data-c-zzzzz", "", "DELETE persistentvolumeclaims/data-c-2"},
		{"PUT", "/api/v1/namespaces/ns/services/c-client", "", "PUT services/c-client"},
		{"POST", "/api/v1/namespaces/ns/events", `{"metadata":{"name":"c-bx24k.17af00c2d1e0f3aa"}}`, "POST events/c-1.*"},
		{"POST", "/api/v1/namespaces/ns/events", `{"metadata":{"generateName":"c-"}}`, "POST events/c-*"},
		{"PATCH", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/x", "", ""},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}", ""},
		{"GET", "/api/v1/namespaces/ns/pods", "", ""},
	}
	var names namer
	for _, c := range cases {
		request := httptest.NewRequest(c.method, c.path, nil)
		got := ""
		if write := apiWrite(request, []byte(c.body), &names); write != nil {
			got = write.Verb + " " + write.Target
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, got, c.want)
		}
	}
}

// fakeEtcd answers MemberAdd with a message and trailers, and everything else with trailers only; it refuses MemberRemove once.
func fakeEtcd(t *testing.T, calls *atomic.Int32) string {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/grpc")
		if !strings.HasSuffix(r.URL.Path, "/MemberAdd") {
			w.Header().Set("Grpc-Status", map[bool]string{true: "14", false: "0"}[calls.Load() == 1])
			return
		}
		io.Copy(w, r.Body)
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", "fine")
	}))
	server.Config.Protocols = protocols((*http.Protocols).SetUnencryptedHTTP2)
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func etcdThrough(t *testing.T, guard *Guard, behind string) (call func(rpc string) (*http.Response, error)) {
	address := freeAddress()
	front, err := ServeEtcd(address, behind, nil, func() *Guard { return guard })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	transport := &http.Transport{Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2)}
	t.Cleanup(transport.CloseIdleConnections)
	return func(rpc string) (*http.Response, error) {
		request := httptest.NewRequest("POST", "http://"+address+"/etcdserverpb.Cluster/"+rpc, strings.NewReader("message"))
		request.Header.Set("Te", "trailers")
		answer, err := transport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body) // to the end, as gRPC does: by then the guard has recorded it
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return answer, err
	}
}

func freeAddress() string {
	server := httptest.NewServer(nil)
	defer server.Close()
	return server.Listener.Addr().String()
}

func TestGRPCPassesWithMessageAndTrailersAndIsRecorded(t *testing.T) {
	var calls atomic.Int32
	guard := NewGuard()
	call := etcdThrough(t, guard, fakeEtcd(t, &calls))
	answer, err := call("MemberRemove")
	if err != nil || answer.Header.Get("Grpc-Status") != "14" {
		t.Errorf("trailers only: %v %v", answer, err)
	}
	if answer, err = call("MemberAdd"); err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	if string(body) != "message" || answer.Trailer.Get("Grpc-Status") != "0" || answer.Header.Get("Grpc-Status") != "" {
		t.Errorf("body %q, trailers %v, header %v", body, answer.Trailer, answer.Header)
	}
	if _, err = call("MemberRemove"); err != nil {
		t.Error(err)
	}
	if _, err = call("MemberList"); err != nil {
		t.Error(err)
	}
	got := ""
	for _, write := range guard.Writes() {
		got += fmt.Sprint(write.Seq, " ", write.Name(), " ", write.Code, "; ")
	}
	if got != "1 MemberRemove Cluster #1 14; 1 MemberAdd Cluster #1 0; 2 MemberRemove Cluster #1 0; " {
		t.Errorf("recorded: %s", got)
	}
}

func TestEachFateKillsAndForwardsAsItsNameSays(t *testing.T) {
	for fate, want := range map[Fate]string{
		Before: "forwarded 0 answered false killed 1", After: "forwarded 1 answered true killed 1",
		Lost: "forwarded 1 answered false killed 1", LostAlive: "forwarded 1 answered false killed 0",
	} {
		t.Run(string(fate), func(t *testing.T) {
			var calls, kills atomic.Int32
			dead := make(chan struct{})
			guard := NewGuard()
			guard.Kill = func() {
				kills.Add(1)
				close(dead)
			}
			call := etcdThrough(t, guard, fakeEtcd(t, &calls))
			guard.Begin("test", &Trigger{Name: "MemberAdd Cluster #1", Fate: fate})
			_, err := call("MemberAdd")
			if fate != LostAlive {
				<-dead
			}
			got := fmt.Sprintf("forwarded %d answered %v killed %d", calls.Load(), err == nil, kills.Load())
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
			select {
			case <-guard.Fired():
			default:
				t.Error("not fired")
			}
		})
	}
}

func TestATriggerWaitsForTheWriteThatIsNotRefused(t *testing.T) {
	var calls atomic.Int32
	guard := NewGuard()
	call := etcdThrough(t, guard, fakeEtcd(t, &calls))
	guard.Begin("test", &Trigger{Name: "MemberRemove Cluster #1", Fate: LostAlive})
	answer, err := call("MemberRemove")
	if err != nil || answer.Header.Get("Grpc-Status") != "14" {
		t.Errorf("the refusal: %v %v", answer, err)
	}
	if _, err = call("MemberRemove"); err == nil {
		t.Error("the accepted write was answered")
	}
	if writes := guard.Writes(); len(writes) != 2 || writes[1].Fate != LostAlive || writes[1].Code != 0 {
		t.Errorf("recorded: %v", writes)
	}
}

func TestAnOperatorThatIsBeingKilledWritesNoMore(t *testing.T) {
	var calls atomic.Int32
	guard := NewGuard()
	killing, killed := make(chan struct{}), make(chan struct{})
	guard.Kill = func() {
		close(killing)
		<-killed
	}
	call := etcdThrough(t, guard, fakeEtcd(t, &calls))
	guard.Begin("test", &Trigger{Seq: 1, Fate: Before})
	done := make(chan error)
	go func() {
		_, err := call("MemberAdd")
		done <- err
	}()
	<-killing
	if _, err := call("MemberAdd"); err == nil {
		t.Error("a write of a dying operator was answered")
	}
	close(killed)
	<-done
	if calls.Load() != 0 || len(guard.Writes()) != 1 {
		t.Errorf("%d calls, %d writes", calls.Load(), len(guard.Writes()))
	}
}

func apiThrough(t *testing.T, guard *Guard, handler http.HandlerFunc) (string, *http.Client) {
	upstream := httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	authority, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	client := &kube.Client{Server: upstream.URL, Transport: &http.Transport{}, Token: "upstream"}
	server, proxy, err := ServeAPI(guard, authority, client, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return server, &http.Client{Transport: transport}
}

func TestAWatchPassesLineByLine(t *testing.T) {
	next := make(chan struct{})
	server, caller := apiThrough(t, NewGuard(), func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.Header.Get("Authorization"), r.Header.Get("Impersonate-User"))
		w.(http.Flusher).Flush()
		<-next
		fmt.Fprintln(w, "second")
	})
	answer, err := caller.Get(server + "/api/v1/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Scan() // arrives although the answer has not ended
	first := lines.Text()
	close(next)
	lines.Scan()
	if first != "Bearer upstream somebody" || lines.Text() != "second" {
		t.Errorf("%q, %q", first, lines.Text())
	}
}

func TestARuleAnswersInTheServersPlaceAsOftenAsItSays(t *testing.T) {
	guard := NewGuard()
	server, caller := apiThrough(t, guard, func(w http.ResponseWriter, r *http.Request) {})
	if _, err := guard.AddRule(Rule{Side: API, Method: "POST", Path: "/pods$", Action: "status", Code: 429, RetryAfter: 1, Times: 1}); err != nil {
		t.Fatal(err)
	}
	var codes []int
	for range 2 {
		answer, err := caller.PostForm(server+"/api/v1/namespaces/ns/pods", url.Values{})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		codes = append(codes, answer.StatusCode)
	}
	if !slices.Equal(codes, []int{429, 200}) || guard.Writes()[0].Code != 429 {
		t.Errorf("codes %v, writes %v", codes, guard.Writes())
	}
}

func TestWhatHangsIsResetWhenTheRuleIsLifted(t *testing.T) {
	guard := NewGuard()
	server, caller := apiThrough(t, guard, func(w http.ResponseWriter, r *http.Request) { t.Error("forwarded") })
	id, err := guard.AddRule(Rule{Action: "hang"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := caller.Get(server)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	guard.DropRule(id)
	if <-done == nil {
		t.Error("answered")
	}
}

func TestAStalledWatchGoesOnWhereItStood(t *testing.T) {
	guard := NewGuard()
	next := make(chan struct{})
	server, caller := apiThrough(t, guard, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		w.(http.Flusher).Flush()
		if r.URL.Query().Has("watch") {
			<-next
			fmt.Fprintln(w, "second")
		}
	})
	watch, err := caller.Get(server + "/api/v1/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	lines := bufio.NewScanner(watch.Body)
	lines.Scan()
	if lines.Text() != "first" || !guard.Watching("/pods") || guard.Watching("/services") {
		t.Errorf("%q, watching: %v, %v", lines.Text(), guard.Watching("/pods"), guard.Watching("/services"))
	}
	id, err := guard.AddRule(Rule{Method: "GET", Path: "/pods", Action: "stall"})
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan string, 2)
	go func() {
		lines.Scan()
		came <- lines.Text()
	}()
	go func() {
		if answer, err := caller.Get(server + "/api/v1/pods"); err == nil {
			answer.Body.Close()
			came <- "list"
		}
	}()
	close(next)
	answer, err := caller.Post(server+"/api/v1/pods", "", nil)
	if err != nil {
		t.Fatalf("what the rule does not match: %v", err)
	}
	answer.Body.Close()
	select {
	case what := <-came:
		t.Fatalf("came although stalled: %q", what)
	case <-time.After(50 * time.Millisecond):
	}
	guard.DropRule(id)
	if got := []string{<-came, <-came}; !slices.Contains(got, "second") || !slices.Contains(got, "list") {
		t.Errorf("came: %q", got)
	}
}
