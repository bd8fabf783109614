package kube

import (
	"encoding/json"
	"testing"
)

func TestTheSecretsOfAClusterAreThoseOfItsSpecOrOfTheContract(t *testing.T) {
	for _, c := range []struct {
		spec string
		want Secrets
	}{
		{`{}`, Secrets{}},
		{`{"tls":{"client":{"serverSecretRef":{"name":"s"}}}}`, Secrets{Server: "s"}},
		{`{"tls":{"client":{"serverSecretRef":{"name":"s"},"operatorClientSecretRef":{"name":"o"}},
			"peer":{"secretRef":{"name":"p"}}}}`, Secrets{Server: "s", Operator: "o", Peer: "p"}},
		{`{"tls":{"client":{"certManager":{"serverIssuerRef":{"name":"i"}}},
			"peer":{"certManager":{"issuerRef":{"name":"i"}}}}}`,
			Secrets{Server: "c-server-tls", Peer: "c-peer-tls"}},
		{`{"tls":{"client":{"certManager":{"operatorClientIssuerRef":{"name":"i"}}}}}`,
			Secrets{Server: "c-server-tls", Operator: "c-operator-client-tls"}},
		{`{"tls":{"client":{"operatorManaged":{}},"peer":{"operatorManaged":true}}}`,
			Secrets{
				Server: "c-server-tls", Operator: "c-operator-client-tls", OperatorIfMade: true,
				Peer: "c-peer-tls",
			}},
		{`{"tls":{"client":{"serverSecretRef":{"name":"s"},"operatorManaged":false}}}`,
			Secrets{Server: "s"}},
		{`{"auth":{"enabled":true,"rootCredentialsSecretRef":{"name":"r"}}}`, Secrets{Root: "r"}},
		{`{"auth":{"enabled":false,"rootCredentialsSecretRef":{"name":"r"}}}`, Secrets{}},
	} {
		var cluster EtcdCluster
		text := `{"metadata":{"name":"c"},"spec":` + c.spec + `}`
		if err := json.Unmarshal([]byte(text), &cluster); err != nil {
			t.Fatal(err)
		}
		if got := cluster.Secrets(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.spec, got, c.want)
		}
	}
}

func TestAPodsNameIsThatOfItsHostAndService(t *testing.T) {
	pod := Pod{Object: Object{Metadata{Name: "M", Namespace: "ns"}}}
	if name := pod.DNSName(); name != "" {
		t.Errorf("without a Service: %q", name)
	}
	pod.Spec.Subdomain = "c"
	if name := pod.DNSName(); name != "m.c.ns.svc" {
		t.Errorf("by its own name: %q", name)
	}
	pod.Spec.Hostname = "h"
	if name := pod.DNSName(); name != "h.c.ns.svc" {
		t.Errorf("by its host name: %q", name)
	}
}
