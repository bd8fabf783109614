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
	// terminationVariable tells our programs where to write their last words, because they have no /dev/termination-log here.
	terminationVariable = "TERMINATION_LOG_PATH"
	terminationMax      = 4096 // bytes of them that a kubelet reads
	terminationLogMax   = 2048 // bytes of a log
)

// variables returns a container's environment, with nothing of the stand-in's own; it waits until the named Secrets exist. False if
// the Pod must end.
func (r *run) variables(mounts map[string]string) ([]string, bool) {
	for last := ""; ; {
		list, err := environment(r.container.Env, mounts, r.secretValue)
		if err == nil {
			err = os.WriteFile(r.termination(), nil, 0o644)
		}
		if err == nil {
			// Here, object stores have loopback addresses.
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

// environment resolves variables as a kubelet does; paths of mounts become those of their folders. secret returns the value of a
// key, and whether the key exists.
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

// secretValue reads it from the API server.
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

// expand replaces $(NAME) by the value of an earlier variable, if any, and $$ by $.
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

// lastWords returns the beginning of the termination message. A failed container without one may get the end of its log instead.
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
