package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func TestACertificateIsForItsNamesAndUsagesAlone(t *testing.T) {
	authority, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.Issue(Leaf{
		CommonName: "c", Names: []string{"*.c.ns.svc"}, Addresses: []string{"127.0.0.1"},
		Usages: []Usage{Server},
	})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	for _, c := range []struct {
		name  string
		usage Usage
		good  bool
	}{
		{"m.c.ns.svc", Server, true}, {"127.0.0.1", Server, true}, {"c.ns.svc", Server, false},
		{"m.c.ns.svc", Client, false},
	} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, DNSName: c.name, KeyUsages: []Usage{c.usage},
		})
		if (err == nil) != c.good {
			t.Errorf("%s, usage %v: %v", c.name, c.usage, err)
		}
	}
	other, err := NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(other.PEM)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("another authority of the name vouches for it")
	}
}
