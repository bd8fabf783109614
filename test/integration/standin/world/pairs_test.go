package world

import (
	"crypto/tls"
	"testing"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/pki"
)

func TestAPairIsKnownAfterItsSecretHasAnother(t *testing.T) {
	authority, err := pki.NewAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	known := pairs{known: map[string]tls.Certificate{}}
	var issued []tls.Certificate
	for range 3 {
		certificate, key, err := authority.Issue(pki.Leaf{CommonName: "operator",
			Usages: []pki.Usage{pki.Client}})
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		if issued = append(issued, pair); len(issued) < 3 {
			known.learn(&kube.Secret{Data: map[string][]byte{"tls.crt": certificate, "tls.key": key}})
		}
	}
	known.learn(&kube.Secret{Data: map[string][]byte{"password": []byte("x")}})
	for i, pair := range issued {
		found, err := known.of(pair.Leaf)
		if (err == nil) != (i < 2) || err == nil && !found.Leaf.Equal(pair.Leaf) {
			t.Errorf("pair %d: %v", i, err)
		}
	}
}
