package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"etcdop.test/standin/kube"
)

const (
	// secretLag is the delay until a running Pod sees a changed Secret; a kubelet takes up to 90 s.
	secretLag   = 2 * time.Second
	secretRetry = time.Second // between looks for a missing Secret
	secretMode  = 0o440
	// The files of a volume are links through dataLink to a folder: replacing that link replaces all of them at once.
	dataLink = "..data"
)

// mountSecrets waits until the Pod's Secrets exist and are written; false if the Pod must end.
func (r *run) mountSecrets() bool {
	for last := ""; ; {
		err := r.writeSecrets()
		if err == nil {
			return true
		}
		if err.Error() != last {
			last = err.Error()
			r.wait("ContainerCreating", "")
			r.k.event(r.ctx, involved{"Pod", r.meta}, "kubelet", "FailedMount", last)
		}
		if !sleep(r.ctx, secretRetry) {
			return false
		}
	}
}

// followSecrets writes changed Secrets until the Pod must end. A Secret that cannot be read leaves the files as they are.
func (r *run) followSecrets() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.secrets:
		}
		if !sleep(r.ctx, secretLag) {
			return
		}
		if err := r.writeSecrets(); err != nil {
			slog.Debug("secret", "pod", r.meta.Key(), "error", err)
			r.pokeSecrets()
		}
	}
}

// pokeSecrets makes followSecrets look; it does not block.
func (r *run) pokeSecrets() {
	select {
	case r.secrets <- struct{}{}:
	default:
	}
}

// secretChanged notifies the Pods that mount it.
func (k *Kubelet) secretChanged(secret *kube.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.runs {
		for _, volume := range r.pod.Spec.Volumes {
			if r.meta.Namespace == secret.Metadata.Namespace && volume.Secret != nil &&
				volume.Secret.SecretName == secret.Metadata.Name {
				r.pokeSecrets()
			}
		}
	}
}

// writeSecrets updates each Secret volume's folder.
func (r *run) writeSecrets() error {
	var failed []error
	for _, volume := range r.pod.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		files, err := r.filesOf(volume.Secret)
		if err == nil {
			err = publish(r.volumeFolder(volume.Name), files)
		}
		if err != nil {
			failed = append(failed,
				fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err))
		}
	}
	return errors.Join(failed...)
}

// volumeFolder is the folder of a volume that only this Pod has.
func (r *run) volumeFolder(volume string) string { return r.k.folder(r.meta.UID + "-" + volume) }

func (r *run) filesOf(volume *kube.SecretVolume) (map[string][]byte, error) {
	var secret kube.Secret
	path := kube.Namespaced(kube.AllSecrets, r.meta.Namespace, volume.SecretName)
	err := r.k.Client.Get(r.ctx, path, &secret)
	missing := kube.Code(err) == http.StatusNotFound
	switch {
	case missing && volume.Optional:
		return nil, nil
	case missing:
		return nil, fmt.Errorf("secret %q not found", volume.SecretName)
	case err != nil:
		return nil, err
	}
	return chosen(volume, secret.Data)
}

// chosen returns the files of a volume, by path.
func chosen(volume *kube.SecretVolume, data map[string][]byte) (map[string][]byte, error) {
	if len(volume.Items) == 0 {
		return data, nil
	}
	files := map[string][]byte{}
	for _, item := range volume.Items {
		content, found := data[item.Key]
		if found {
			files[item.Path] = content
		} else if !volume.Optional {
			return nil, fmt.Errorf("references non-existent secret key: %s", item.Key)
		}
	}
	return files, nil
}

// publish makes a folder contain exactly these files, by path. A reader that opens dataLink first sees one consistent version.
func publish(folder string, files map[string][]byte) error {
	if shows(folder, files) {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for path, content := range files {
		file := filepath.Join(fresh, path)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, content, secretMode))
		if err != nil {
			return err
		}
	}
	link := filepath.Join(folder, dataLink)
	old, _ := os.Readlink(link) // none the first time
	next := link + "_next"
	os.Remove(next)
	if err := errors.Join(os.Symlink(filepath.Base(fresh), next), os.Rename(next, link)); err != nil {
		return err
	}
	if old != "" {
		defer os.RemoveAll(filepath.Join(folder, old))
	}
	return relink(folder, files)
}

// relink creates the links of these files, or of their folders, and removes other links.
func relink(folder string, files map[string][]byte) error {
	wanted := map[string]bool{}
	for path := range files {
		first, _, _ := strings.Cut(path, "/")
		wanted[first] = true
	}
	there, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range there {
		name := entry.Name()
		if wanted[name] {
			delete(wanted, name)
		} else if !strings.HasPrefix(name, "..") {
			err = errors.Join(err, os.Remove(filepath.Join(folder, name)))
		}
	}
	for name := range wanted {
		err = errors.Join(err, os.Symlink(filepath.Join(dataLink, name), filepath.Join(folder, name)))
	}
	return err
}

// shows tells whether the folder now contains exactly these files.
func shows(folder string, files map[string][]byte) bool {
	target, err := os.Readlink(filepath.Join(folder, dataLink))
	if err != nil {
		return false
	}
	root, found := filepath.Join(folder, target), 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		name, _ := filepath.Rel(root, path) // path is below root
		content, err := os.ReadFile(path)
		if wanted, known := files[name]; err == nil && (!known || !bytes.Equal(content, wanted)) {
			return errors.New("differs")
		}
		return err
	})
	return err == nil && found == len(files)
}
