package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"etcdop.test/standin/kube"
)

func files(pairs ...string) map[string][]byte {
	list := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		list[pairs[i]] = []byte(pairs[i+1])
	}
	return list
}

func TestAVolumeShowsWhatItsSecretHasNow(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "volume")
	for _, wanted := range []map[string][]byte{
		files("tls.crt", "1", "tls.key", "1"),
		files("tls.crt", "2", "tls.key", "2", "ca.crt", "2"),
		files("tls.crt", "3"),
		files("sub/a", "4", "sub/b", "4"),
		files(),
	} {
		for range 2 { // the second time does nothing
			if err := publish(folder, wanted); err != nil {
				t.Fatal(err)
			}
		}
		for path, content := range wanted {
			got, err := os.ReadFile(filepath.Join(folder, path))
			if err != nil || string(got) != string(content) {
				t.Errorf("%s: %q, %v", path, got, err)
			}
			info, err := os.Stat(filepath.Join(folder, path))
			if err != nil || info.Mode().Perm() != secretMode {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		entries, _ := os.ReadDir(folder)
		links := map[string]bool{}
		for path := range wanted {
			links[strings.Split(path, "/")[0]] = true
		}
		if len(entries) != len(links)+2 { // plus the link and its folder
			t.Errorf("%v beside %v", entries, slices.Sorted(maps.Keys(wanted)))
		}
	}
}

func TestCertificateAndKeyAreNeverSeenMixed(t *testing.T) {
	folder := t.TempDir()
	version := func(n int) map[string][]byte {
		return files("tls.crt", fmt.Sprint(n), "tls.key", fmt.Sprint(n))
	}
	if err := publish(folder, version(0)); err != nil {
		t.Fatal(err)
	}
	ended, pairs := make(chan struct{}), 0
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			now, err := os.OpenRoot(filepath.Join(folder, dataLink))
			if err != nil { // It was replaced during the look-up.
				continue
			}
			cert, certErr := now.ReadFile("tls.crt")
			key, keyErr := now.ReadFile("tls.key")
			now.Close()
			// The folder may also be removed during the read; files that were read are of one version.
			if certErr != nil || keyErr != nil {
				continue
			}
			if pairs++; string(cert) != string(key) {
				t.Errorf("certificate %s, key %s", cert, key)
			}
		}
	})
	for n := 1; n < 200; n++ {
		if err := publish(folder, version(n)); err != nil {
			t.Error(err)
		}
	}
	close(ended)
	reader.Wait()
	if pairs == 0 {
		t.Error("no pair was read")
	}
}

func TestItemsChooseTheFilesOfAVolume(t *testing.T) {
	data := files("a", "1", "b", "2")
	for _, c := range []struct{ volume, want string }{
		{`{}`, `{"a":"MQ==","b":"Mg=="}`},
		{`{"items":[{"key":"a","path":"sub/x"}]}`, `{"sub/x":"MQ=="}`},
		{`{"items":[{"key":"a","path":"x"},{"key":"c","path":"y"}],"optional":true}`, `{"x":"MQ=="}`},
		{`{"items":[{"key":"c","path":"y"}]}`, "references non-existent secret key: c"},
	} {
		var volume kube.SecretVolume
		if err := json.Unmarshal([]byte(c.volume), &volume); err != nil {
			t.Fatal(err)
		}
		got := ""
		if list, err := chosen(&volume, data); err != nil {
			got = err.Error()
		} else {
			text, _ := json.Marshal(list)
			got = string(text)
		}
		if got != c.want {
			t.Errorf("%s: %s", c.volume, got)
		}
	}
}

// secretServer is an API server with one Secret, which set replaces; it counts events.
type secretServer struct {
	mu     sync.Mutex
	data   map[string][]byte // nil: no Secret
	events int
}

func (s *secretServer) set(data map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = data
}

func (s *secretServer) told() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events
}

func (s *secretServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		s.events++
	case r.URL.Path == "/api/v1/namespaces/ns/secrets/s" && s.data == nil:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"secrets \"s\" not found"}`)
	case r.URL.Path == "/api/v1/namespaces/ns/secrets/s":
		_ = json.NewEncoder(w).Encode(kube.Secret{Data: s.data})
	}
}

func TestAPodWaitsForItsSecretAndFollowsIt(t *testing.T) {
	api := &secretServer{}
	server := httptest.NewServer(api)
	defer server.Close()
	client := &kube.Client{Server: server.URL, Transport: &http.Transport{}}
	k := &Kubelet{Config: Config{Client: client, Dir: t.TempDir()}, runs: map[string]*run{}}
	pod := &kube.Pod{}
	pod.Metadata = kube.Metadata{Name: "m", Namespace: "ns", UID: "u"}
	pod.Spec.Volumes = []kube.Volume{{Name: "tls", Secret: &kube.SecretVolume{SecretName: "s"}}}
	r := &run{k: k, pod: pod, meta: &pod.Metadata, secrets: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithTimeout(t.Context(), 20*time.Second)
	k.runs["u"] = r
	mounted := make(chan bool, 1)
	go func() { mounted <- r.mountSecrets() }()
	for told := 0; told == 0; told = api.told() {
		select {
		case <-mounted:
			t.Fatal("it did not wait")
		case <-time.After(100 * time.Millisecond):
		}
	}
	api.set(files("tls.crt", "1"))
	if !<-mounted || api.told() != 1 {
		t.Fatalf("not mounted, or %d events", api.told())
	}
	var following sync.WaitGroup
	following.Go(r.followSecrets)
	api.set(files("tls.crt", "2"))
	changed := time.Now()
	k.secretChanged(&kube.Object{Metadata: kube.Metadata{Name: "s", Namespace: "ns"}})
	file := filepath.Join(r.volumeFolder("tls"), "tls.crt")
	for content, _ := os.ReadFile(file); string(content) != "2"; content, _ = os.ReadFile(file) {
		if !sleep(r.ctx, 20*time.Millisecond) {
			t.Fatal("it did not follow")
		}
	}
	if lag := time.Since(changed); lag < secretLag {
		t.Errorf("it followed after %v", lag)
	}
	r.cancel()
	following.Wait()
}
