// Package pki issues the certificates of tests.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Authority signs certificates.
type Authority struct {
	PEM []byte // of its own certificate

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Usage is a certificate's extended key usage.
type Usage = x509.ExtKeyUsage

// The usages of etcd's certificates.
const (
	Server = x509.ExtKeyUsageServerAuth
	Client = x509.ExtKeyUsageClientAuth
)

// Leaf is the content of a certificate.
type Leaf struct {
	CommonName string
	Names      []string
	Addresses  []string
	Usages     []Usage
}

const (
	before   = time.Hour // for clocks that differ
	lifetime = 24 * time.Hour
)

// NewAuthority creates a key and a self-signed certificate.
func NewAuthority(name string) (*Authority, error) {
	template, err := newTemplate(name)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{PEM: armour("CERTIFICATE", der), certificate: certificate, key: key}, nil
}

// Issue creates a key and signs a certificate for it; both come as PEM.
func (a *Authority) Issue(leaf Leaf) (certificate, key []byte, err error) {
	template, err := newTemplate(leaf.CommonName)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage, template.DNSNames = leaf.Usages, leaf.Names
	for _, address := range leaf.Addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	return armour("CERTIFICATE", der), armour("PRIVATE KEY", encoded), err
}

func newTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-before), NotAfter: time.Now().Add(lifetime),
	}, err
}

func armour(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
