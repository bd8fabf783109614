package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"

	"etcdop.test/standin/kube"
)

var silent = log.New(io.Discard, "", 0)

const dialTimeout = 2 * time.Second

// Authority signs the certificate that an API proxy shows to its operator.
type Authority struct {
	pem  []byte
	pair tls.Certificate
}

// NewAuthority creates a key and a self-signed certificate for 127.0.0.1.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "standin"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Authority{
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}, nil
}

// Kubeconfig returns a kubeconfig, as JSON, for the API proxy at server.
func (a *Authority) Kubeconfig(server, namespace string) []byte {
	text, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "standin",
		"clusters": []any{map[string]any{"name": "standin", "cluster": map[string]any{
			"server": server, "certificate-authority-data": a.pem}}},
		"users": []any{map[string]any{"name": "operator", "user": map[string]any{"token": "taken-for-granted"}}},
		"contexts": []any{map[string]any{"name": "standin", "context": map[string]any{
			"cluster": "standin", "user": "operator", "namespace": namespace}}},
	}, "", "  ")
	if err != nil {
		panic(err) // strings and bytes only
	}
	return text
}

// ServeAPI starts a proxy for the API server and returns its URL. The API server sees every caller as the client's user, or as
// actAs if that is not empty.
func ServeAPI(guard *Guard, authority *Authority, client *kube.Client, actAs string) (string, io.Closer, error) {
	upstream, err := url.Parse(client.Server)
	if err != nil {
		return "", nil, err
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Header.Del("Authorization")
			if client.Token != "" {
				r.Out.Header.Set("Authorization", "Bearer "+client.Token)
			}
			if actAs != "" {
				r.Out.Header.Set("Impersonate-User", actAs)
			}
		},
		Transport: client.Transport, FlushInterval: -1, ErrorLog: silent, ErrorHandler: noAnswer,
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		var write *Write
		if r.Method != http.MethodGet {
			body, err := readBody(r)
			if err != nil {
				drop(r)
			}
			guard.mu.Lock()
			write = apiWrite(r, body, &guard.names)
			guard.mu.Unlock()
		}
		guard.serve(API, w, r, write, forward)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		Handler: http.HandlerFunc(handler), ConnContext: remember, ConnState: guard.track, ErrorLog: silent,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{authority.pair}, NextProtos: []string{"http/1.1"}},
		Protocols: protocols((*http.Protocols).SetHTTP1),
	}
	go server.ServeTLS(listener, "", "")
	return "https://" + listener.Addr().String(), server, nil
}

func protocols(enable ...func(*http.Protocols, bool)) *http.Protocols {
	p := new(http.Protocols)
	for _, set := range enable {
		set(p, true)
	}
	return p
}

// noAnswer handles an unreachable server: the caller's connection breaks, too.
func noAnswer(_ http.ResponseWriter, r *http.Request, _ error) { drop(r) }

// byProtocol forwards gRPC as HTTP/2 and the rest of etcd's client port as HTTP/1.1.
type byProtocol struct{ one, two *http.Transport }

// newByProtocol speaks plaintext if secure is nil.
func newByProtocol(secure *tls.Config) byProtocol {
	dial := (&net.Dialer{Timeout: dialTimeout}).DialContext
	two := protocols((*http.Protocols).SetUnencryptedHTTP2)
	if secure != nil {
		two = protocols((*http.Protocols).SetHTTP2)
	}
	return byProtocol{
		one: &http.Transport{DialContext: dial, TLSClientConfig: secure},
		two: &http.Transport{DialContext: dial, TLSClientConfig: secure, Protocols: two},
	}
}

func (t byProtocol) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 {
		return t.two.RoundTrip(r)
	}
	return t.one.RoundTrip(r)
}

func (t byProtocol) close() {
	t.one.CloseIdleConnections()
	t.two.CloseIdleConnections()
}

// EtcdTLS is the TLS of an etcd's client port. The files are read when etcd reads them: certificate and key at each handshake, the
// client CA once.
type EtcdTLS struct {
	Cert, Key, ClientCA string
	// Pair finds the key of a caller's certificate, so that the proxy can show the same identity to etcd.
	Pair func(leaf *x509.Certificate) (tls.Certificate, error)
}

// config is what etcd would show and require.
func (s *EtcdTLS) config() (*tls.Config, error) {
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		return &pair, err
	}}
	if s.ClientCA == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(s.ClientCA)
	if err != nil {
		return nil, err
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	config.ClientCAs.AppendCertsFromPEM(authorities)
	return config, nil
}

// byCaller forwards each caller's requests over separate connections, with the caller's certificate.
type byCaller struct {
	secure *EtcdTLS

	mu      sync.Mutex
	callers map[string]byProtocol // by certificate; "" for none
}

func (t *byCaller) RoundTrip(r *http.Request) (*http.Response, error) {
	transport, err := t.of(r.TLS)
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(r)
}

func (t *byCaller) of(state *tls.ConnectionState) (byProtocol, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key, leaf := "", (*x509.Certificate)(nil)
	if state != nil && len(state.PeerCertificates) > 0 {
		leaf = state.PeerCertificates[0]
		key = string(leaf.Raw)
	}
	if known, found := t.callers[key]; found {
		return known, nil
	}
	var config *tls.Config
	if t.secure != nil {
		// The stand-in owns the port, and the caller has verified the certificate.
		config = &tls.Config{InsecureSkipVerify: true}
	}
	if leaf != nil {
		pair, err := t.secure.Pair(leaf)
		if err != nil {
			slog.Warn("a caller's certificate", "subject", leaf.Subject, "error", err)
			return byProtocol{}, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	t.callers[key] = newByProtocol(config)
	return t.callers[key], nil
}

type etcdFront struct {
	server    *http.Server
	transport *byCaller
}

func (f *etcdFront) Close() error {
	err := f.server.Close()
	f.transport.mu.Lock()
	defer f.transport.mu.Unlock()
	for _, caller := range f.transport.callers {
		caller.close()
	}
	return err
}

// ServeEtcd starts a proxy at address for the client port of an etcd at behind, both plaintext if secure is nil. guard is called at
// each request: an operator may start after the Pod.
func ServeEtcd(address, behind string, secure *EtcdTLS, guard func() *Guard) (io.Closer, error) {
	target := &url.URL{Scheme: "http", Host: behind}
	server := &http.Server{
		ErrorLog: silent, ConnContext: remember,
		ConnState: func(c net.Conn, state http.ConnState) { guard().track(c, state) },
		Protocols: protocols((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2),
	}
	if secure != nil {
		var err error
		if server.TLSConfig, err = secure.config(); err != nil {
			return nil, err
		}
		target.Scheme = "https"
		server.Protocols = protocols((*http.Protocols).SetHTTP1, (*http.Protocols).SetHTTP2)
	}
	transport := &byCaller{secure: secure, callers: map[string]byProtocol{}}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		Transport: transport, FlushInterval: -1, ErrorLog: silent, ErrorHandler: noAnswer,
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard().serve(Etcd, w, r, etcdWrite(r), forward)
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if secure == nil {
		go server.Serve(listener)
	} else {
		go server.ServeTLS(listener, "", "")
	}
	return &etcdFront{server: server, transport: transport}, nil
}

// Recording formats writes as JSON lines.
func Recording(writes []Write) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for i := range writes {
		_ = encoder.Encode(&writes[i]) // into memory
	}
	return text.Bytes()
}
