package plans

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/pki"
	"etcdop.test/standin/wire"
)

// fakeEtcd answers clients with a certificate and, once it requires one, with its present token.
type fakeEtcd struct {
	asksToken bool
	tokens    int // number of issued tokens; only the last one is valid
}

func (f *fakeEtcd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request wire.Fields
	if message, err := wire.ReadFrame(r.Body); err == nil {
		request, _ = wire.Parse(message)
	}
	answer, code, text := f.answer(r.URL.Path, request, r.Header.Get("Token"))
	w.Header().Set("Content-Type", "application/grpc")
	if code == 0 {
		_, _ = w.Write(wire.Frame(answer))
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", fmt.Sprint(code))
	w.Header().Set(http.TrailerPrefix+"Grpc-Message", text)
}

func (f *fakeEtcd) answer(rpc string, request wire.Fields, token string) (
	answer wire.Message, code int, text string) {
	switch {
	case strings.HasSuffix(rpc, "/Authenticate"):
		if request.Text(1) != root || request.Text(2) != "secret" {
			return nil, 3, "etcdserver: authentication failed, invalid user ID or password"
		}
		f.tokens++
		answer.Text(2, fmt.Sprint("token-", f.tokens))
		return answer, 0, ""
	case f.asksToken && token == "":
		return nil, 3, "etcdserver: user name is empty"
	case f.asksToken && token != fmt.Sprint("token-", f.tokens):
		return nil, 16, "etcdserver: invalid auth token"
	}
	var header wire.Message
	header.Number(1, 1)
	answer.Nested(1, header)
	return answer, 0, ""
}

// securedWorld is an API server with the Secrets of a cluster, and an etcd for each port of one of its Pods.
type securedWorld struct {
	t       *testing.T
	cluster *kube.EtcdCluster
	pod     *kube.Pod
	secrets map[string]map[string][]byte
	client  *etcdClient
}

func newSecuredWorld(t *testing.T, etcd http.Handler, asksCertificate bool) *securedWorld {
	w := &securedWorld{t: t, cluster: &kube.EtcdCluster{}, pod: &kube.Pod{},
		secrets: map[string]map[string][]byte{}}
	w.pod.Metadata = kube.Metadata{Name: "m", Namespace: "ns"}
	w.pod.Spec.Subdomain = clusterName
	// An address of this process only, so that the ports are free.
	w.pod.Status.PodIP = fmt.Sprintf("127.76.%d.%d", os.Getpid()>>8&255, os.Getpid()&255)
	w.cluster.Metadata = kube.Metadata{Name: clusterName, Namespace: "ns"}
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		data, found := w.secrets[strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/ns/secrets/")]
		if !found {
			http.NotFound(rw, r)
			return
		}
		_ = json.NewEncoder(rw).Encode(kube.Secret{Data: data})
	}))
	t.Cleanup(api.Close)
	authority, err := pki.NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	w.secret(authority, "server",
		pki.Leaf{Names: []string{"*.c.ns.svc"}, Usages: []pki.Usage{pki.Server}})
	w.secret(authority, "operator", pki.Leaf{CommonName: "o", Usages: []pki.Usage{pki.Client}})
	w.secrets["root"] = map[string][]byte{"password": []byte("secret")}
	client := &kube.Client{Server: api.URL, Transport: &http.Transport{}}
	w.client = &etcdClient{api: client, port: etcdPort,
		cluster: func() *kube.EtcdCluster { return w.cluster }}
	w.serve(etcd, authority, asksCertificate)
	return w
}

func (w *securedWorld) secret(authority *pki.Authority, name string, leaf pki.Leaf) {
	certificate, key, err := authority.Issue(leaf)
	if err != nil {
		w.t.Fatal(err)
	}
	w.secrets[name] = map[string][]byte{"ca.crt": authority.PEM, "tls.crt": certificate,
		"tls.key": key}
}

func (w *securedWorld) serve(etcd http.Handler, authority *pki.Authority, asksCertificate bool) {
	pair, err := tls.X509KeyPair(w.secrets["server"]["tls.crt"], w.secrets["server"]["tls.key"])
	if err != nil {
		w.t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool()}
	config.ClientCAs.AppendCertsFromPEM(authority.PEM)
	if asksCertificate {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	for _, port := range []string{etcdPort, peerPort} {
		listener, err := net.Listen("tcp", w.pod.Status.PodIP+":"+port)
		if err != nil {
			w.t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(etcd)
		server.Listener.Close()
		server.Listener, server.TLS = listener, config.Clone()
		server.EnableHTTP2 = true
		server.StartTLS()
		w.t.Cleanup(server.Close)
	}
}

// spec sets the cluster's spec from JSON.
func (w *securedWorld) spec(text string) {
	if err := json.Unmarshal([]byte(text), &w.cluster.Spec); err != nil {
		w.t.Fatal(err)
	}
	w.client.known = nil
}

const mutual = `{"tls":{"client":{"serverSecretRef":{"name":"server"},
	"operatorClientSecretRef":{"name":"operator"}}}}`

func TestTheTestsGetInAsTheSpecSays(t *testing.T) {
	w := newSecuredWorld(t, &fakeEtcd{}, true)
	for _, c := range []struct {
		spec string
		in   bool
	}{
		{mutual, true},
		{`{"tls":{"client":{"serverSecretRef":{"name":"server"},"operatorClientSecretRef":null}}}`,
			false},
		{`{"tls":{"client":null}}`, false},
	} {
		w.spec(c.spec)
		list, err := w.client.members(t.Context(), w.pod)
		if (err == nil) != c.in || c.in && list.ClusterID != "0000000000000001" {
			t.Errorf("%s: %v, %v", c.spec, list, err)
		}
	}
	w.spec(mutual)
	w.pod.Spec.Subdomain = "another"
	if _, err := w.client.members(t.Context(), w.pod); err == nil {
		t.Error("a certificate of another name was taken")
	}
}

func TestTheTestsAreRootOnceAuthenticationIsOn(t *testing.T) {
	etcd := &fakeEtcd{}
	w := newSecuredWorld(t, etcd, true)
	w.spec(mutual)
	w.spec(`{"auth":{"enabled":true,"rootCredentialsSecretRef":{"name":"root"}}}`)
	ask := func() error {
		_, err := w.client.members(t.Context(), w.pod)
		return err
	}
	if err := ask(); err != nil || etcd.tokens != 0 {
		t.Errorf("while it is off: %v, %d tokens", err, etcd.tokens)
	}
	etcd.asksToken = true
	if err := ask(); err == nil {
		t.Error("it got in before the status said how")
	}
	w.cluster.Status.AuthEnabled = true
	for range 2 {
		if err := ask(); err != nil || etcd.tokens != 1 {
			t.Errorf("once it is on: %v, %d tokens", err, etcd.tokens)
		}
	}
	etcd.tokens = 7 // etcd has restarted, and does not know our token any more
	if err := ask(); err != nil || etcd.tokens != 8 {
		t.Errorf("with a token of before: %v, %d tokens", err, etcd.tokens)
	}
}

func TestAnEtcdThatLetsAnybodyInIsNoticed(t *testing.T) {
	spec := `{"tls":{"client":{"serverSecretRef":{"name":"server"},
		"operatorClientSecretRef":{"name":"operator"}},"peer":{"secretRef":{"name":"server"}}},
		"auth":{"enabled":true,"rootCredentialsSecretRef":{"name":"root"}}}`
	etcd := &fakeEtcd{asksToken: true}
	w := newSecuredWorld(t, etcd, true)
	w.spec(spec)
	err := w.client.open(t.Context(), w.pod)
	if err == nil || !strings.Contains(err.Error(), "authEnabled") {
		t.Errorf("without the status: %v", err)
	}
	w.cluster.Status.AuthEnabled = true
	if err := w.client.open(t.Context(), w.pod); err != nil {
		t.Errorf("closed: %v", err)
	}
	etcd.asksToken = false
	err = w.client.open(t.Context(), w.pod)
	if err == nil || !strings.Contains(err.Error(), "without a password") {
		t.Errorf("without a password: %v", err)
	}
}

func TestAnEtcdThatAsksForNoCertificateIsNoticed(t *testing.T) {
	w := newSecuredWorld(t, &fakeEtcd{}, false)
	w.spec(mutual)
	err := w.client.open(t.Context(), w.pod)
	if err == nil || !strings.Contains(err.Error(), "no certificate on port "+etcdPort) {
		t.Errorf("client port: %v", err)
	}
	w.spec(`{"tls":{"client":null,"peer":{"secretRef":{"name":"server"}}}}`)
	err = w.client.open(t.Context(), w.pod)
	if err == nil || !strings.Contains(err.Error(), "no certificate on port "+peerPort) {
		t.Errorf("peer port: %v", err)
	}
}
