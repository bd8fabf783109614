package plans

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/wire"
)

// etcdClient calls the etcds of a cluster as its EtcdCluster says: plaintext or TLS, anonymously or as root. It speaks gRPC,
// because etcd's JSON gateway accepts no client certificate with a common name once authentication is on.
type etcdClient struct {
	api     *kube.Client
	cluster func() *kube.EtcdCluster // nil if absent: then plaintext
	port    string
	limit   time.Duration // for one call; 0: etcdTimeout

	mu    sync.Mutex
	known *access // nil: not known yet
}

// access is the way into an etcd.
type access struct {
	port     string
	secure   *tls.Config // nil: plaintext
	password string      // root's; "" if authentication is off
	token    string
}

const root = "root"

// refusal is an answer of etcd that is not a success.
type refusal struct {
	rpc     string
	code    int // gRPC's
	message string
}

func (r *refusal) Error() string { return fmt.Sprintf("etcd %s: %d %s", r.rpc, r.code, r.message) }

// call calls one Pod's etcd. After a failure it forgets the access: the cluster may have another certificate, password or
// authentication by now.
func (c *etcdClient) call(ctx context.Context, pod *kube.Pod, rpc string,
	request wire.Message) (wire.Fields, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.limit, etcdTimeout))
	defer cancel()
	answer, err := c.try(ctx, pod, rpc, request)
	if staleToken(err) {
		answer, err = c.try(ctx, pod, rpc, request)
	}
	return answer, err
}

func (c *etcdClient) try(ctx context.Context, pod *kube.Pod, rpc string,
	request wire.Message) (wire.Fields, error) {
	a, err := c.access(ctx, pod)
	if err != nil {
		return wire.Fields{}, err
	}
	answer, err := a.call(ctx, pod, rpc, request)
	if err != nil {
		c.forget(a)
	}
	return answer, err
}

// access returns the known access, or finds it out.
func (c *etcdClient) access(ctx context.Context, pod *kube.Pod) (*access, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != nil {
		return c.known, nil
	}
	found, err := c.fresh(ctx)
	if err != nil {
		return nil, err
	}
	if found.password != "" {
		if err := found.authenticate(ctx, pod); err != nil {
			return nil, err
		}
	}
	c.known = found
	return found, nil
}

// fresh returns the access according to the present Secrets, without logging in.
func (c *etcdClient) fresh(ctx context.Context) (*access, error) {
	found := &access{port: c.port}
	if cluster := c.cluster(); cluster != nil {
		return found, found.read(ctx, c.api, cluster)
	}
	return found, nil
}

// logIn tests on one Pod's etcd whether this is root's password.
func (c *etcdClient) logIn(ctx context.Context, pod *kube.Pod, password string) error {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	a, err := c.fresh(ctx)
	if err != nil {
		return err
	}
	a.password = password
	return a.authenticate(ctx, pod)
}

func (c *etcdClient) forget(a *access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == a {
		c.known = nil
	}
}

// read reads the access from the cluster's Secrets.
func (a *access) read(ctx context.Context, client *kube.Client, cluster *kube.EtcdCluster) error {
	names := cluster.Secrets()
	secret := func(name string) (data map[string][]byte, err error) {
		var s kube.Secret
		err = client.Get(ctx, kube.Namespaced(kube.AllSecrets, cluster.Metadata.Namespace, name), &s)
		return s.Data, err
	}
	if names.Server != "" {
		server, err := secret(names.Server)
		if err != nil {
			return err
		}
		a.secure = &tls.Config{RootCAs: x509.NewCertPool()}
		a.secure.RootCAs.AppendCertsFromPEM(server["ca.crt"])
	}
	if names.Operator != "" && a.secure != nil {
		operator, err := secret(names.Operator)
		if err == nil {
			err = a.showing(operator)
		}
		if err != nil && !(names.OperatorIfMade && kube.Code(err) == http.StatusNotFound) {
			return err
		}
	}
	if names.Root != "" && cluster.Status.AuthEnabled {
		credentials, err := secret(names.Root)
		if err != nil {
			return err
		}
		a.password = string(credentials["password"])
	}
	return nil
}

// showing adds a client certificate.
func (a *access) showing(data map[string][]byte) error {
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	a.secure.Certificates = []tls.Certificate{pair}
	return err
}

func (a *access) authenticate(ctx context.Context, pod *kube.Pod) error {
	var request wire.Message
	request.Text(1, root)
	request.Text(2, a.password)
	answer, err := a.call(ctx, pod, "Auth/Authenticate", request)
	a.token = answer.Text(2)
	return err
}

// call makes one call, over its own connection.
func (a *access) call(ctx context.Context, pod *kube.Pod, rpc string,
	request wire.Message) (wire.Fields, error) {
	url := a.url(pod) + "/etcdserverpb." + rpc
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url,
		bytes.NewReader(wire.Frame(request)))
	if err != nil {
		return wire.Fields{}, err
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("Te", "trailers")
	if a.token != "" {
		r.Header.Set("Token", a.token)
	}
	transport := a.transport(pod)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP2(a.secure != nil)
	transport.Protocols.SetUnencryptedHTTP2(a.secure == nil)
	response, err := transport.RoundTrip(r)
	if err != nil {
		return wire.Fields{}, err
	}
	defer response.Body.Close()
	return read(rpc, response)
}

// read parses an answer. An answer without a message has its status before its body, not after it.
func read(rpc string, response *http.Response) (wire.Fields, error) {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return wire.Fields{}, err
	}
	status := cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
	if status != "0" {
		message := cmp.Or(response.Trailer.Get("Grpc-Message"), response.Header.Get("Grpc-Message"),
			response.Status)
		code, _ := strconv.Atoi(status) // 0 if it is not a gRPC answer
		return wire.Fields{}, &refusal{rpc, code, message}
	}
	message, err := wire.ReadFrame(bytes.NewReader(body))
	if err != nil {
		return wire.Fields{}, err
	}
	return wire.Parse(message)
}

func (a *access) url(pod *kube.Pod) string {
	scheme := "http"
	if a.secure != nil {
		scheme = "https"
	}
	return scheme + "://" + pod.Status.PodIP + ":" + a.port
}

// transport connects to one Pod: its certificate must be for its name, whatever its address.
func (a *access) transport(pod *kube.Pod) *http.Transport {
	transport := &http.Transport{DisableKeepAlives: true}
	if a.secure != nil {
		transport.TLSClientConfig = a.secure.Clone()
		transport.TLSClientConfig.ServerName = pod.DNSName()
	}
	return transport
}

// staleToken tells that etcd does not know our token any more: tokens end with the process that issued them.
func staleToken(err error) bool {
	return refusedWith(err, "invalid auth token") || refusedWith(err, "revision of auth store is old")
}

// open reports unwanted ways into a Pod's etcd: by plaintext, without a certificate, or without a password.
func (c *etcdClient) open(ctx context.Context, pod *kube.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	cluster := c.cluster()
	if cluster == nil {
		return nil
	}
	names := cluster.Secrets()
	var failed []error
	keepsOut := func(port, who string, secure *tls.Config) {
		if (&access{port: port, secure: secure}).getsIn(ctx, pod) {
			failed = append(failed, fmt.Errorf("%s lets in %s on port %s", pod.Metadata.Name, who, port))
		}
	}
	nobody := &tls.Config{InsecureSkipVerify: true} // The server is not verified; the test is about the client.
	if names.Server != "" {
		keepsOut(etcdPort, "plaintext", nil)
	}
	if names.Operator != "" && !names.OperatorIfMade {
		keepsOut(etcdPort, "whoever shows no certificate", nobody)
	}
	if names.Peer != "" {
		keepsOut(peerPort, "plaintext", nil)
		keepsOut(peerPort, "whoever shows no certificate", nobody)
	}
	if names.Root != "" {
		failed = append(failed, c.anonymous(ctx, pod, cluster))
	}
	return errors.Join(failed...)
}

// getsIn requests a page that every port of an etcd serves to accepted clients.
func (a *access) getsIn(ctx context.Context, pod *kube.Pod) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url(pod)+"/version", nil)
	if err != nil {
		return false
	}
	response, err := a.transport(pod).RoundTrip(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// anonymous returns an error unless etcd refuses reads without a password.
func (c *etcdClient) anonymous(ctx context.Context, pod *kube.Pod,
	cluster *kube.EtcdCluster) error {
	if !cluster.Status.AuthEnabled {
		return errors.New("status.authEnabled is not set")
	}
	a, err := c.fresh(ctx)
	if err != nil {
		return err
	}
	_, err = a.call(ctx, pod, "KV/Range", rangeRequest("a", ""))
	if err == nil {
		return fmt.Errorf("%s lets itself be read without a password", pod.Metadata.Name)
	}
	// Without a certificate the user name is empty; with one, it is the common name, which no user has.
	if !refusedWith(err, "user name is empty") && !refusedWith(err, "permission denied") {
		return fmt.Errorf("%s refuses anonymous calls otherwise: %w", pod.Metadata.Name, err)
	}
	return nil
}

// refusedWith tells whether etcd refused with these words.
func refusedWith(err error, words string) bool {
	refused, ok := errors.AsType[*refusal](err)
	return ok && strings.Contains(refused.message, words)
}
