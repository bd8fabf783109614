package kubelet

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"

	"etcdop.test/standin/kube"
)

const (
	// terminationVariable tells a program of ours where its last words go: it has no /dev/termination-log of its own here.
	terminationVariable = "TERMINATION_LOG_PATH"
	terminationMax      = 4096 // bytes that a kubelet reads of them
	terminationLogMax   = 2048 // bytes of a log
)

// variables are a container's environment, and nothing of the stand-in's own; it waits until the Secrets that it names are
// there. False when the Pod is to end.
func (r *run) variables(mounts map[string]string) ([]string, bool) {
	for last := ""; ; {
		list, err := environment(r.container.Env, mounts, r.secretValue)
		if err == nil {
			err = os.WriteFile(r.termination(), nil, 0o644)
		}
		if err == nil {
			// Here an object store is at a loopback address.
			return append(list, "PATH=/usr/bin:/bin", "HOME=/", "S3_ALLOW_LOCAL=true", terminationVariable+"="+r.termination()), true
		}
		if err.Error() != last {
			last = err.Error()
			r.wait("CreateContainerConfigError", last)
		}
		if !sleep(r.ctx, secretRetry) {
			return nil, false
		}
	}
}

// environment lists variables as a kubelet does; paths of mounts are those of their folders. secret returns what a key has, and
// whether there is such a key.
func environment(wanted []kube.Variable, mounts map[string]string,
	secret func(key *kube.SecretKey) (string, bool, error)) ([]string, error) {
	values := map[string]string{}
	for _, variable := range wanted {
		if variable.ValueFrom == nil || variable.ValueFrom.Secret == nil {
			values[variable.Name] = onDisk(expand(variable.Value, values), mounts)
			continue
		}
		key := variable.ValueFrom.Secret
		value, found, err := secret(key)
		switch {
		case err != nil:
			return nil, err
		case found:
			values[variable.Name] = value
		case !key.Optional:
			return nil, fmt.Errorf("couldn't find key %s in Secret %s", key.Key, key.Name)
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return list, nil
}

// secretValue asks the API server.
func (r *run) secretValue(key *kube.SecretKey) (string, bool, error) {
	var secret kube.Secret
	err := r.k.Client.Get(r.ctx, kube.Namespaced(kube.AllSecrets, r.meta.Namespace, key.Name), &secret)
	if kube.Code(err) == http.StatusNotFound {
		if key.Optional {
			return "", false, nil
		}
		return "", false, fmt.Errorf("secret %q not found", key.Name)
	}
	value, found := secret.Data[key.Key]
	return string(value), found, err
}

var reference = regexp.MustCompile(`\$\$|\$\(([^)]*)\)`)

// expand replaces $(NAME) by the value of a variable that came before, if there is one, and $$ by $.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, known := values[found[2:len(found)-1]]; known {
			return value
		}
		return found
	})
}

// termination is the file where a container says how it ended.
func (r *run) termination() string { return r.log() + ".termination" }

// lastWords are the beginning of the termination message. A container that failed without one may have its log's end instead.
func (r *run) lastWords(failed bool) string {
	text := read(r.termination())
	if len(text) > 0 || !failed || r.container.TerminationMessagePolicy != "FallbackToLogsOnError" {
		return string(text[:min(len(text), terminationMax)])
	}
	text = read(r.log())
	return string(text[max(0, len(text)-terminationLogMax):])
}

func read(file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		slog.Warn("termination message", "error", err)
	}
	return text
}
