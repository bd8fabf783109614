package plans

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/pki"
	"etcdop.test/standin/proxy"
	"etcdop.test/standin/wire"
)

// Clusters with TLS, and with authentication.

// The Secrets' names differ from those of the contract, to detect code that ignores the spec.
const (
	serverSecret   = "our-server"
	operatorSecret = "our-operator"
	peerSecret     = "our-peers"
	rootSecret     = "our-root"
	rootPassword   = "correct horse"
)

// clientLeaves are the certificates of the client port, by Secret.
func clientLeaves(namespace string) map[string]pki.Leaf {
	service := clusterName + "." + namespace + ".svc"
	return map[string]pki.Leaf{
		serverSecret: {
			CommonName: clusterName + "-server",
			Names: []string{"*." + service, service, clusterName + "-client." + namespace + ".svc",
				"localhost"},
			Addresses: []string{"127.0.0.1"}, Usages: []pki.Usage{pki.Server, pki.Client},
		},
		operatorSecret: {CommonName: clusterName + "-operator-client", Usages: []pki.Usage{pki.Client}},
	}
}

// peerLeaf has the wildcard with which peers verify the member that they call. The called member looks up the caller's address, and
// finds either the Pod's name in the cluster's domain, or, if addresses have no names, that the address belongs to the headless
// Service.
func peerLeaf(namespace string) pki.Leaf {
	service := clusterName + "." + namespace + ".svc"
	return peerLeafOf("*."+service, "*."+service+".cluster.local", service)
}

func peerLeafOf(names ...string) pki.Leaf {
	return pki.Leaf{
		CommonName: clusterName + "-peer", Names: names, Usages: []pki.Usage{pki.Server, pki.Client},
	}
}

// issue creates the Secrets of the leaves, signed by a new CA.
func (e *Env) issue(ctx context.Context, leaves map[string]pki.Leaf) error {
	authority, err := pki.NewAuthority(strings.Join(slices.Sorted(maps.Keys(leaves)), ", "))
	if err != nil {
		return err
	}
	for name, leaf := range leaves {
		data, err := signed(authority, leaf)
		if err != nil {
			return err
		}
		if err := e.makeSecret(ctx, name, "kubernetes.io/tls", data); err != nil {
			return err
		}
	}
	return nil
}

func signed(authority *pki.Authority, leaf pki.Leaf) (map[string][]byte, error) {
	certificate, key, err := authority.Issue(leaf)
	return map[string][]byte{"ca.crt": authority.PEM, "tls.crt": certificate, "tls.key": key}, err
}

func (e *Env) makeSecret(ctx context.Context, name, kind string, data map[string][]byte) error {
	object := map[string]any{"metadata": map[string]any{"name": name}, "type": kind, "data": data}
	return e.Client.Create(ctx, kube.Namespaced(kube.AllSecrets, e.Namespace), object)
}

// editSecret changes keys of a Secret.
func (e *Env) editSecret(ctx context.Context, name string, data map[string][]byte) error {
	patch := map[string]any{"data": data}
	return e.Client.Patch(ctx, kube.Namespaced(kube.AllSecrets, e.Namespace, name), patch)
}

// makeTLS creates the Secrets that withTLS names.
func makeTLS(ctx context.Context, e *Env) error {
	peers := map[string]pki.Leaf{peerSecret: peerLeaf(e.Namespace)}
	return errors.Join(e.issue(ctx, clientLeaves(e.Namespace)), e.issue(ctx, peers))
}

// withTLS enables TLS on both ports.
func withTLS(spec map[string]any) {
	spec["tls"] = map[string]any{
		"client": map[string]any{
			"serverSecretRef": ref(serverSecret), "operatorClientSecretRef": ref(operatorSecret),
		},
		"peer": map[string]any{"secretRef": ref(peerSecret)},
	}
}

func ref(name string) map[string]any { return map[string]any{"name": name} }

func makeRoot(ctx context.Context, e *Env) error {
	credentials := map[string][]byte{"username": []byte(root), "password": []byte(rootPassword)}
	return e.makeSecret(ctx, rootSecret, "kubernetes.io/basic-auth", credentials)
}

func makeTLSAndAuth(ctx context.Context, e *Env) error {
	return errors.Join(makeTLS(ctx, e), makeRoot(ctx, e))
}

func withTLSAndAuth(spec map[string]any) {
	withTLS(spec)
	withAuth(spec)
}

// withOwnAuthority lets the operator issue all certificates.
func withOwnAuthority(spec map[string]any) {
	made := map[string]any{"operatorManaged": map[string]any{}}
	spec["tls"] = map[string]any{"client": made, "peer": made}
	withAuth(spec)
}

func withAuth(spec map[string]any) {
	spec["auth"] = map[string]any{"enabled": true, "rootCredentialsSecretRef": ref(rootSecret)}
}

func never(*proxy.Write) bool { return false }

// turnsAuthOn picks the writes that only clusters with authentication have.
func turnsAuthOn(write *proxy.Write) bool {
	return write.Side == proxy.Etcd && write.Target == "Auth"
}

// writesSecrets picks the writes of certificates and passwords.
func writesSecrets(write *proxy.Write) bool {
	return write.Side == proxy.API && strings.HasPrefix(write.Target, "secrets")
}

// replaceOne deletes an EtcdMember and waits until another one has replaced it.
func replaceOne(ctx context.Context, e *Env, replicas int) error {
	members := e.Members.In(e.Namespace)
	if len(members) == 0 {
		return errors.New("there is no EtcdMember")
	}
	victim := members[0].Metadata
	if err := e.Client.Delete(ctx, victim.Path(kube.EtcdMembers), nil); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if now := e.Members.Get(e.Namespace, victim.Name); now != nil && now.Metadata.UID == victim.UID {
			return fmt.Errorf("EtcdMember %s is still there", victim.Name)
		}
		return nil
	})
	if err == nil {
		err = e.Settled(ctx, replicas)
	}
	if err != nil {
		return fmt.Errorf("one is replaced: %w", err)
	}
	return nil
}

// securedByHand adds TLS to a Pod of handMade.
func securedByHand(pod map[string]any) {
	const client, peer = "/etc/etcd/tls/client", "/etc/etcd/tls/peer"
	spec := pod["spec"].(map[string]any)
	etcd := spec["containers"].([]any)[0].(map[string]any)
	command := etcd["command"].([]string)
	for i, flag := range command {
		if !strings.HasPrefix(flag, "--listen-metrics-urls=") {
			command[i] = strings.ReplaceAll(flag, "http://", "https://")
		}
	}
	etcd["command"] = append(command, "--cert-file="+client+"/tls.crt",
		"--key-file="+client+"/tls.key",
		"--client-cert-auth=true", "--trusted-ca-file="+client+"/ca.crt",
		"--peer-cert-file="+peer+"/tls.crt",
		"--peer-key-file="+peer+"/tls.key", "--peer-trusted-ca-file="+peer+"/ca.crt",
		"--peer-client-cert-auth=true")
	mounts, volumes := etcd["volumeMounts"].([]any), spec["volumes"].([]any)
	for volume, at := range map[string][2]string{
		"tls-client": {client, serverSecret}, "tls-peer": {peer, peerSecret},
	} {
		mounts = append(mounts, map[string]any{"name": volume, "mountPath": at[0], "readOnly": true})
		volumes = append(volumes,
			map[string]any{"name": volume, "secret": map[string]any{"secretName": at[1]}})
	}
	etcd["volumeMounts"], spec["volumes"] = mounts, volumes
}

// tlsByHand runs peers whose certificate has these names, on a network that answers reverse look-ups in that way.
func tlsByHand(reverse kubelet.Reverse,
	peerNames func(service string) []string) func(context.Context, *Env) error {
	return func(ctx context.Context, e *Env) error {
		if err := e.Kubelet.Network.SetReverse(e.Namespace, reverse); err != nil {
			return err
		}
		peers := peerLeafOf(peerNames(clusterName + "." + e.Namespace + ".svc")...)
		if err := e.upByHand(ctx, withTLS, peers); err != nil {
			return err
		}
		allSecured := func() error { return e.allSecured(ctx) }
		if err := e.Until(ctx, e.Namespace, converge, allSecured); err != nil {
			return err
		}
		return e.follows(ctx)
	}
}

// authByHand turns authentication on through the operator's port, and checks that the writes are seen.
func authByHand(ctx context.Context, e *Env) error {
	credentials := map[string][]byte{"password": []byte(rootPassword)}
	err := errors.Join(e.makeSecret(ctx, rootSecret, "Opaque", credentials),
		e.upByHand(ctx, withTLSAndAuth, peerLeaf(e.Namespace)))
	if err != nil {
		return err
	}
	// Each of these writes is asked for once. etcd waits 7 s itself on a busy machine.
	operator := &etcdClient{api: e.Client, cluster: e.cluster, port: frontPort, limit: 20 * time.Second}
	if err := operator.turnAuthOn(ctx, e.pods()[0], rootPassword); err != nil {
		return err
	}
	writes := e.Guard().Writes()
	if len(writes) != 3 || !turnsAuthOn(&writes[2]) || !writes[2].Accepted() {
		return fmt.Errorf("%d writes were seen, the last: %s", len(writes), lastWrite(writes))
	}
	if err := e.allSecured(ctx); err == nil {
		return errors.New("nobody complained that the status does not tell of it")
	}
	cluster := kube.Metadata{Namespace: e.Namespace, Name: clusterName}
	latched := map[string]any{"status": map[string]any{"authEnabled": true}}
	if err := e.Client.Patch(ctx, cluster.Path(kube.EtcdClusters, "status"), latched); err != nil {
		return err
	}
	return e.Until(ctx, e.Namespace, converge, func() error {
		_, err := operator.members(ctx, e.pods()[0])
		return errors.Join(err, e.allSecured(ctx))
	})
}

// turnAuthOn creates root; then only root gets in.
func (c *etcdClient) turnAuthOn(ctx context.Context, pod *kube.Pod, password string) error {
	var user, grant wire.Message
	user.Text(1, root)
	user.Text(2, password)
	grant.Text(1, root)
	grant.Text(2, root)
	for _, step := range []struct {
		rpc     string
		request wire.Message
	}{{"Auth/UserAdd", user}, {"Auth/UserGrantRole", grant}, {"Auth/AuthEnable", nil}} {
		if _, err := c.call(ctx, pod, step.rpc, step.request); err != nil {
			return err
		}
	}
	return nil
}

// upByHand creates three members without an operator, and then the Secrets that they wait for. The EtcdCluster only tells the tests
// how to connect.
func (e *Env) upByHand(ctx context.Context, edit func(spec map[string]any), peers pki.Leaf) error {
	if err := errors.Join(e.handMadeCluster(ctx, securedByHand), e.Create(ctx, 3, edit)); err != nil {
		return err
	}
	allWait := func() error { return e.allWait("ContainerCreating") }
	if err := e.Until(ctx, e.Namespace, converge, allWait); err != nil {
		return err
	}
	err := errors.Join(e.issue(ctx, clientLeaves(e.Namespace)),
		e.issue(ctx, map[string]pki.Leaf{peerSecret: peers}))
	if err != nil {
		return err
	}
	return e.Until(ctx, e.Namespace, converge, func() error { return e.allReady(3) })
}

// allWait returns an error unless all Pods wait for this reason.
func (e *Env) allWait(reason string) error {
	pods := e.pods()
	for _, pod := range pods {
		states := pod.Status.ContainerStatuses
		if len(states) == 0 || states[0].State.Waiting == nil ||
			states[0].State.Waiting.Reason != reason {
			return fmt.Errorf("Pod %s does not wait for %s", pod.Metadata.Name, reason)
		}
	}
	if len(pods) == 0 {
		return errors.New("there is no Pod")
	}
	return nil
}

// allSecured returns an error unless three members know each other, and accept only allowed clients.
func (e *Env) allSecured(ctx context.Context) error {
	if err := e.allReady(3); err != nil {
		return err
	}
	for _, pod := range e.pods() {
		list, err := e.etcd.members(ctx, pod)
		if err != nil {
			return err
		}
		if len(list.Members) != 3 {
			return fmt.Errorf("%s knows %d members", pod.Metadata.Name, len(list.Members))
		}
		if err := e.etcd.open(ctx, pod); err != nil {
			return err
		}
	}
	return e.writer.check(ctx, e.pods()[0])
}

// follows gives the client port a certificate of another CA, and waits until each etcd and its proxy show it.
func (e *Env) follows(ctx context.Context) error {
	authority, err := pki.NewAuthority("another")
	if err != nil {
		return err
	}
	data, err := signed(authority, clientLeaves(e.Namespace)[serverSecret])
	if err != nil {
		return err
	}
	if err := e.editSecret(ctx, serverSecret, data); err != nil {
		return err
	}
	return e.Until(ctx, e.Namespace, converge, func() error {
		for _, pod := range e.pods() {
			for _, port := range []string{frontPort, etcdPort} {
				if name := issuerAt(ctx, pod.Status.PodIP+":"+port); name != "another" {
					return fmt.Errorf("%s shows a certificate of %q on port %s", pod.Metadata.Name, name, port)
				}
			}
		}
		return nil
	})
}

// issuerAt is the name of the CA of the certificate that is shown there.
func issuerAt(ctx context.Context, address string) string {
	name := ""
	look := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // any certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			name = state.PeerCertificates[0].Issuer.CommonName
			return nil
		},
	}}
	connection, err := look.DialContext(ctx, "tcp", address)
	if err == nil {
		connection.Close()
	}
	return name
}

// untold fails if a password or a key is anywhere but in a Secret: in the operator's log, command line or environment, or in the
// namespace's objects.
func (e *Env) untold(ctx context.Context) error {
	places := map[string]func() ([]byte, error){
		"its log": func() ([]byte, error) { return os.ReadFile(e.Operator.Log) },
	}
	for _, file := range []string{"cmdline", "environ"} {
		places[file] = func() ([]byte, error) {
			return os.ReadFile(fmt.Sprintf("/proc/%d/%s", e.Operator.Pid(), file))
		}
	}
	for _, kind := range []string{kube.EtcdClusters, kube.EtcdMembers, kube.Pods,
		"/api/v1/services", "/apis/events.k8s.io/v1/events"} {
		places[kind] = func() ([]byte, error) {
			var list json.RawMessage
			err := e.Client.Get(ctx, kube.Namespaced(kind, e.Namespace), &list)
			return list, err
		}
	}
	for place, read := range places {
		text, err := read()
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		for _, secret := range canaries() {
			if bytes.Contains(text, []byte(secret)) {
				return fmt.Errorf("%s has a secret", place)
			}
		}
	}
	return nil
}

// canaries are substrings that all secrets have, plain and encoded as in objects.
func canaries() []string {
	out := []string{"PRIVATE KEY", "UFJJVkFURSBLRVk", "QUklWQVRFIEtFW", "BSSVZBVEUgS0VZ"}
	for _, password := range append(otherPasswords, rootPassword) {
		out = append(out, password, base64.StdEncoding.EncodeToString([]byte(password)))
	}
	return out
}
