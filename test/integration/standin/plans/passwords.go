package plans

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/proxy"
)

// A user edits root's password (ADR 0017).

// otherPasswords are root's passwords after rootPassword, in turn.
var otherPasswords = []string{"battery staple", "tent peg", "rubber duck"}

const operatorAuth = clusterName + "-operator-auth" // the Secret with root's possible passwords

// editPassword changes the Secret named in the spec.
func (e *Env) editPassword(ctx context.Context, password string) error {
	return e.editSecret(ctx, rootSecret, map[string][]byte{"password": []byte(password)})
}

// editPasswordSeen kills the operator after the edit: the next operator reads the Secret at once, this one within five minutes.
func (e *Env) editPasswordSeen(ctx context.Context, password string) error {
	if err := e.editPassword(ctx, password); err != nil {
		return err
	}
	e.Operator.Kill()
	return nil
}

// changeTwice gives root a new password, and soon after another.
func changeTwice(ctx context.Context, e *Env, replicas int) error {
	was := rootPassword
	for _, is := range otherPasswords[:2] {
		err := e.editPasswordSeen(ctx, is)
		if err == nil {
			err = e.passwordBecomes(ctx, is, was)
		}
		if err == nil {
			err = e.Settled(ctx, replicas)
		}
		if err != nil {
			return fmt.Errorf("to %q: %w", is, err)
		}
		was = is
	}
	return e.onlyPasswords()
}

// passwordBecomes waits until the operator has nothing left to change, and every member accepts only this password of root and none
// of the former. Meanwhile Available must never report a problem with authentication. The test does not require a leader at all
// times: a busy machine has none for a moment.
func (e *Env) passwordBecomes(ctx context.Context, is string, former ...string) error {
	var shutOut error
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if now := e.cluster().Condition("Available"); strings.Contains(now, "/Auth") {
			shutOut = fmt.Errorf("meanwhile Available was %s", now)
		}
		if err := e.recorded(ctx, is); err != nil {
			return err
		}
		for _, pod := range e.pods() {
			if err := e.etcd.takes(ctx, pod, is, former); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, shutOut)
}

// recorded returns an error unless the operator's Secret records this as root's only password.
func (e *Env) recorded(ctx context.Context, is string) error {
	var ours kube.Secret
	path := kube.Namespaced(kube.AllSecrets, e.Namespace, operatorAuth)
	if err := e.Client.Get(ctx, path, &ours); err != nil {
		return err
	}
	if has, next := string(ours.Data["password"]), string(ours.Data["next"]); has != is || next != "" {
		return fmt.Errorf("root has %q by the operator's Secret, which is to become %q", has, next)
	}
	return nil
}

// takes returns an error unless a member accepts one password of root and refuses the others.
func (c *etcdClient) takes(ctx context.Context, pod *kube.Pod, is string, former []string) error {
	if err := c.logIn(ctx, pod, is); err != nil {
		return fmt.Errorf("%s does not take %q: %w", pod.Metadata.Name, is, err)
	}
	for _, was := range former {
		if err := c.logIn(ctx, pod, was); !refusedWith(err, "authentication failed") {
			return fmt.Errorf("%s does not refuse %q: %w", pod.Metadata.Name, was, err)
		}
	}
	return nil
}

// changesPassword picks the writes of a change of root's password.
func changesPassword(write *proxy.Write) bool {
	return write.Kind() == "PATCH secrets/"+operatorAuth ||
		write.Kind() == "UserChangePassword Auth"
}

// onlyPasswords returns an error for a write that is not part of a change of root's password.
func (e *Env) onlyPasswords() error {
	for _, write := range e.Guard().Writes() {
		told := strings.HasPrefix(write.Target, "events/") || strings.HasSuffix(write.Target, "/status")
		if !told && !changesPassword(&write) {
			return fmt.Errorf("%s has nothing to do with a password", write.Name())
		}
	}
	return nil
}

// upWithAuth creates three members that require a password.
func (e *Env) upWithAuth(ctx context.Context) error {
	if err := errors.Join(makeTLSAndAuth(ctx, e), e.Create(ctx, 3, withTLSAndAuth)); err != nil {
		return err
	}
	return e.Settled(ctx, 3)
}

// emptied removes the password from the Secret. The operator still knows it; it reports the problem, and accepts the next password
// without a restart.
func emptied(ctx context.Context, e *Env) error {
	if err := errors.Join(e.upWithAuth(ctx), e.editPasswordSeen(ctx, "")); err != nil {
		return err
	}
	err := e.Until(ctx, e.Namespace, converge, func() error {
		if now := e.cluster().Condition("Degraded"); now != "True/AuthCredentialsRejected" {
			return fmt.Errorf("an empty password is told as %q", now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	life := e.Operator.PID()
	err = errors.Join(e.passwordBecomes(ctx, rootPassword), e.editPassword(ctx, otherPasswords[0]))
	if err != nil {
		return err
	}
	return errors.Join(e.passwordBecomes(ctx, otherPasswords[0], rootPassword), e.Settled(ctx, 3),
		e.livesOn(life), e.untold(ctx))
}

// editedAgain edits the password while the operator changes etcd's and does not hear the answer, and again when the operator has
// just started.
func editedAgain(ctx context.Context, e *Env) error {
	if err := e.upWithAuth(ctx); err != nil {
		return err
	}
	e.Guard().Begin("edits", &proxy.Trigger{Name: "UserChangePassword Auth #1", Fate: proxy.LostAlive})
	if err := e.editPasswordSeen(ctx, otherPasswords[0]); err != nil {
		return err
	}
	select {
	case <-e.Guard().Fired():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), errMissed)
	}
	for _, password := range otherPasswords[1:] {
		if err := e.editPasswordSeen(ctx, password); err != nil {
			return err
		}
	}
	last := len(otherPasswords) - 1
	former := append([]string{rootPassword}, otherPasswords[:last]...)
	return errors.Join(e.passwordBecomes(ctx, otherPasswords[last], former...), e.Settled(ctx, 3),
		e.onlyPasswords(), e.untold(ctx))
}
