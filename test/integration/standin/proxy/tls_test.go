package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"etcdop.test/standin/pki"
)

const memberName = "m.c.ns.svc"

// secured is an etcd with TLS that reports its caller, and the front before it.
type secured struct {
	t         *testing.T
	authority *pki.Authority
	folder    string
	pairs     []tls.Certificate // certificates whose keys the front knows
	guard     *Guard
	address   string
}

func newSecured(t *testing.T) *secured {
	authority, err := pki.NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, authority: authority, folder: t.TempDir(), guard: NewGuard(),
		address: freeAddress()}
	s.write("ca.crt", authority.PEM)
	s.renew()
	files := &EtcdTLS{
		Cert: s.path("tls.crt"), Key: s.path("tls.key"), ClientCA: s.path("ca.crt"), Pair: s.pairOf,
	}
	behind := httptest.NewUnstartedServer(nil)
	behind.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		caller := r.TLS.PeerCertificates[0].Subject.CommonName
		fmt.Fprint(w, caller, " ", r.Header.Get("Authorization"), " ", r.Proto)
		w.Header().Set("Grpc-Status", "0")
	})
	if behind.TLS, err = files.config(); err != nil {
		t.Fatal(err)
	}
	behind.EnableHTTP2 = true
	behind.StartTLS()
	t.Cleanup(behind.Close)
	front, err := ServeEtcd(s.address, strings.TrimPrefix(behind.URL, "https://"), files,
		func() *Guard { return s.guard })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	return s
}

func (s *secured) path(name string) string { return filepath.Join(s.folder, name) }

func (s *secured) write(name string, content []byte) {
	if err := os.WriteFile(s.path(name), content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *secured) issue(leaf pki.Leaf) (certificate, key []byte, pair tls.Certificate) {
	certificate, key, err := s.authority.Issue(leaf)
	if err == nil {
		pair, err = tls.X509KeyPair(certificate, key)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return certificate, key, pair
}

// renew gives etcd, and so the front, a new certificate.
func (s *secured) renew() {
	certificate, key, _ := s.issue(pki.Leaf{Names: []string{memberName},
		Usages: []pki.Usage{pki.Server}})
	s.write("tls.crt", certificate)
	s.write("tls.key", key)
}

func (s *secured) pairOf(leaf *x509.Certificate) (tls.Certificate, error) {
	for _, pair := range s.pairs {
		if pair.Leaf.Equal(leaf) {
			return pair, nil
		}
	}
	return tls.Certificate{}, errors.New("no such pair")
}

// caller is a new client with a certificate of this name; known: the front has its key.
func (s *secured) caller(name string, known bool) *http.Client {
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: memberName}
	config.RootCAs.AppendCertsFromPEM(s.authority.PEM)
	if name != "" {
		_, _, pair := s.issue(pki.Leaf{CommonName: name, Usages: []pki.Usage{pki.Client}})
		config.Certificates = []tls.Certificate{pair}
		if known {
			s.pairs = append(s.pairs, pair)
		}
	}
	transport := &http.Transport{TLSClientConfig: config,
		Protocols: protocols((*http.Protocols).SetHTTP2)}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// call returns what etcd reported, the status in the trailers and the serial number of the shown certificate.
func (s *secured) call(caller *http.Client, path string) (heard, status, serial string, err error) {
	request, err := http.NewRequest("POST", "https://"+s.address+path, strings.NewReader("message"))
	if err != nil {
		return "", "", "", err
	}
	request.Header.Set("Authorization", "token")
	answer, err := caller.Do(request)
	if err != nil {
		return "", "", "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	serial = answer.TLS.PeerCertificates[0].SerialNumber.String()
	return string(body), answer.Trailer.Get("Grpc-Status"), serial, err
}

func TestByTLSEtcdHearsWhoCallsAndWhatIsWritten(t *testing.T) {
	s := newSecured(t)
	for _, name := range []string{"operator", "somebody"} {
		heard, status, _, err := s.call(s.caller(name, true), "/etcdserverpb.Auth/UserAdd")
		if err != nil || heard != name+" token HTTP/2.0" || status != "0" {
			t.Errorf("%s: %q, status %q, %v", name, heard, status, err)
		}
	}
	if writes := s.guard.Writes(); len(writes) != 2 || writes[1].Name() != "UserAdd Auth #2" ||
		writes[1].Code != 0 {
		t.Errorf("recorded: %v", writes)
	}
}

func TestByTLSOnlyThoseGetInWhomEtcdWouldLetIn(t *testing.T) {
	s := newSecured(t)
	for because, caller := range map[string]*http.Client{
		"no certificate": s.caller("", false), "a certificate without a key": s.caller("unknown", false),
	} {
		if heard, _, _, err := s.call(caller, "/"); err == nil {
			t.Errorf("%s: %q", because, heard)
		}
	}
	if answer, err := http.Get("http://" + s.address); err == nil {
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("plaintext was answered")
		}
	}
}

func TestByTLSARenewedCertificateIsShownToTheNextCaller(t *testing.T) {
	s := newSecured(t)
	_, _, first, err := s.call(s.caller("operator", true), "/")
	if err != nil {
		t.Fatal(err)
	}
	s.renew()
	_, _, second, err := s.call(s.caller("operator", true), "/")
	if err != nil || first == second {
		t.Errorf("serials %s and %s, %v", first, second, err)
	}
}

func TestByTLSAnAnswerIsLostAsByPlaintext(t *testing.T) {
	s := newSecured(t)
	caller := s.caller("operator", true)
	s.guard.Begin("test", &Trigger{Name: "AuthEnable Auth #1", Fate: LostAlive})
	if _, _, _, err := s.call(caller, "/etcdserverpb.Auth/AuthEnable"); err == nil {
		t.Error("the lost answer came")
	}
	if _, _, _, err := s.call(caller, "/etcdserverpb.Auth/AuthEnable"); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if writes := s.guard.Writes(); len(writes) != 2 || writes[0].Fate != LostAlive ||
		writes[0].Code != 0 {
		t.Errorf("recorded: %v", writes)
	}
}
