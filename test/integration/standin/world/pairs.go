package world

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"

	"etcdop.test/standin/kube"
)

// pairs keeps the certificates and keys of all Secrets that ever existed: a client may use a pair for a while after its Secret has
// changed.
type pairs struct {
	mu    sync.Mutex
	known map[string]tls.Certificate // by certificate
}

func (p *pairs) learn(secret *kube.Secret) {
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return // not a certificate's Secret, or a bad one
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[string(pair.Leaf.Raw)] = pair
}

func (p *pairs) of(leaf *x509.Certificate) (tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair, found := p.known[string(leaf.Raw)]
	if !found {
		return tls.Certificate{}, errors.New("no Secret has, or had, this certificate")
	}
	return pair, nil
}
