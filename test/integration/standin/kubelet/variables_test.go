package kubelet

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"etcdop.test/standin/kube"
)

func fromSecret(name, key string, optional bool) kube.Variable {
	v := kube.Variable{Name: strings.ToUpper(key)}
	v.ValueFrom = &struct {
		Secret *kube.SecretKey `json:"secretKeyRef,omitempty"`
	}{&kube.SecretKey{Name: name, Key: key, Optional: optional}}
	return v
}

func TestVariablesAreAsAKubeletGivesThem(t *testing.T) {
	secrets := func(key *kube.SecretKey) (string, bool, error) {
		value, found := map[string]string{"s/id": "$(PLAIN) $$", "s/path": "/mnt/a"}[key.Name+"/"+key.Key]
		return value, found, nil
	}
	got, err := environment([]kube.Variable{
		{Name: "PLAIN", Value: "a=b"},
		{Name: "EXPANDED", Value: "<$(PLAIN)> $(LATER) $$(PLAIN) $$$$ $x $( $"},
		{Name: "LATER", Value: ""},
		fromSecret("s", "id", false), fromSecret("s", "path", true), fromSecret("s", "token", true),
		{Name: "MOUNT", Value: "/mnt/a"}, {Name: "BELOW", Value: "/mnt/a/x.pem"}, {Name: "BESIDE", Value: "/mnt/ab"},
	}, map[string]string{"/mnt/a": "/v/1"}, secrets)
	want := []string{
		"BELOW=/v/1/x.pem", "BESIDE=/mnt/ab", "EXPANDED=<a=b> $(LATER) $(PLAIN) $$ $x $( $", "ID=$(PLAIN) $$", "LATER=",
		"MOUNT=/v/1", "PATH=/mnt/a", "PLAIN=a=b",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v,\n%q, want\n%q", err, got, want)
	}
}

func TestAVariableWithoutItsSecretKeepsTheContainerFromStarting(t *testing.T) {
	missing := func(*kube.SecretKey) (string, bool, error) { return "", false, nil }
	_, err := environment([]kube.Variable{fromSecret("s", "id", false)}, nil, missing)
	if err == nil || err.Error() != "couldn't find key id in Secret s" {
		t.Errorf("a missing key: %v", err)
	}
	broken := errors.New("no answer")
	failing := func(*kube.SecretKey) (string, bool, error) { return "", false, broken }
	if _, err := environment([]kube.Variable{fromSecret("s", "id", true)}, nil, failing); !errors.Is(err, broken) {
		t.Errorf("an API server that does not answer: %v", err)
	}
}

func TestAProcessHasItsVariablesAndNoOthers(t *testing.T) {
	t.Setenv("OURS", "not theirs")
	file := filepath.Join(t.TempDir(), "log")
	p, err := startProcess("/usr/bin/env", nil, []string{"THEIRS=1"}, file)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(60 * time.Second):
		t.Fatal("it does not end")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "THEIRS=1\n" {
		t.Errorf("%v, environment:\n%s", err, text)
	}
}

func TestLastWordsAreReadAsFarAsAKubeletDoes(t *testing.T) {
	r := &run{k: &Kubelet{Config: Config{Dir: t.TempDir()}}, meta: &kube.Metadata{Namespace: "ns", Name: "p"}, container: &kube.Container{}}
	if got := r.lastWords(true); got != "" {
		t.Errorf("without a file: %q", got)
	}
	log := strings.Repeat("1", terminationLogMax) + strings.Repeat("2", terminationLogMax)
	err := errors.Join(os.Mkdir(filepath.Dir(r.log()), 0o755), os.WriteFile(r.log(), []byte(log), 0o644))
	for _, c := range []struct {
		policy string
		failed bool
		size   int
		want   string
	}{
		{"", true, 0, ""},
		{"FallbackToLogsOnError", false, 0, ""},
		{"FallbackToLogsOnError", true, 0, log[terminationLogMax:]},
		{"FallbackToLogsOnError", true, 1, "x"},
		{"", true, terminationMax, strings.Repeat("x", terminationMax)},
		{"", false, terminationMax + 1, strings.Repeat("x", terminationMax)},
	} {
		r.container.TerminationMessagePolicy = c.policy
		err = errors.Join(err, os.WriteFile(r.termination(), []byte(strings.Repeat("x", c.size)), 0o644))
		if got := r.lastWords(c.failed); err != nil || got != c.want {
			t.Errorf("%v: %q of %d bytes, failed %v: %q", err, c.policy, c.size, c.failed, got)
		}
	}
}

func TestAPodOfTheOperatorsProgramIsPlayed(t *testing.T) {
	k := &Kubelet{Config: Config{Manager: "/out/manager", Etcd: map[string]string{"3.6.16": "/out/etcd"}}}
	for _, c := range []struct {
		container kube.Container
		ours      bool
		program   string
	}{
		{kube.Container{Name: "snapshot-agent", Image: "operator:1", Command: []string{"/manager", "snapshot-agent"}}, true, "/out/manager"},
		{kube.Container{Name: "etcd", Image: "quay.io/coreos/etcd:v3.6.16", Command: []string{"etcd"}}, true, "/out/etcd"},
		{kube.Container{Name: "etcd", Image: "quay.io/coreos/etcd:v3.4.0", Command: []string{"etcd"}}, true, ""},
		{kube.Container{Name: "nginx", Image: "nginx:1"}, false, ""},
	} {
		if got := isOurs(c.container); got != c.ours {
			t.Errorf("%s is ours: %v", c.container.Name, got)
		}
		if got := k.binary("ns", &c.container); got != c.program {
			t.Errorf("%s runs %q, want %q", c.container.Name, got, c.program)
		}
	}
}
