package world

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"etcdop.test/standin/proxy"
)

// Spec describes an instance of the operator.
type Spec struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"` // its etcd calls are the instance's; "" for all namespaces without an instance
	// Command is the operator's command line; {kubeconfig} and {namespace} are replaced. Empty: no operator is started.
	Command []string `json:"command"`
	Env     []string `json:"env"`
	// ActAs is the operator's user on the API server; by default a user with all rights.
	ActAs string `json:"actAs"`
}

// Instance is an operator under test. It is restarted whenever it ends.
type Instance struct {
	Spec
	Guard      *proxy.Guard
	Kubeconfig string
	Log        string

	world *World
	front io.Closer
	done  chan struct{} // closed when the process will not be restarted

	mu      sync.Mutex
	current *exec.Cmd
	exited  chan struct{} // closed when current has ended
	stopped bool
	killed  bool // the stand-in ended the present process
	lives   int
	crashes int
}

// Pid is that of the present process, or of the last one; 0: none so far.
func (i *Instance) Pid() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.current == nil || i.current.Process == nil {
		return 0
	}
	return i.current.Process.Pid
}

const crashDelay = 200 * time.Millisecond

// NewInstance starts proxies for the API server and for the etcds of the namespace, and then the operator.
func (w *World) NewInstance(spec Spec) (*Instance, error) {
	folder, err := w.folder("instances", spec.Name)
	if err != nil {
		return nil, err
	}
	i := &Instance{
		Spec: spec, Guard: proxy.NewGuard(), world: w, done: make(chan struct{}),
		Kubeconfig: filepath.Join(folder, "kubeconfig"), Log: filepath.Join(folder, "operator.log"),
	}
	server, front, err := proxy.ServeAPI(i.Guard, w.authority, w.Client, spec.ActAs)
	if err != nil {
		return nil, err
	}
	i.front = front
	if err := os.WriteFile(i.Kubeconfig, w.authority.Kubeconfig(server, spec.Namespace), 0o600); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.instances[spec.Name] != nil {
		front.Close()
		return nil, fmt.Errorf("there is an instance %q", spec.Name)
	}
	w.instances[spec.Name], w.guards[spec.Namespace] = i, i.Guard
	if len(spec.Command) == 0 {
		close(i.done)
		return i, nil
	}
	i.Guard.Kill = i.Kill
	if err := i.live(); err != nil {
		return nil, err
	}
	go i.supervise()
	return i, nil
}

// live starts the operator.
func (i *Instance) live() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return os.ErrProcessDone
	}
	log, err := os.OpenFile(i.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	names := strings.NewReplacer("{kubeconfig}", i.Kubeconfig, "{namespace}", i.Namespace)
	arguments := make([]string, len(i.Command))
	for n, argument := range i.Command {
		arguments[n] = names.Replace(argument)
	}
	i.lives++
	fmt.Fprintf(log, "--- life %d\n", i.lives)
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Env = append(os.Environ(), i.Env...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return err
	}
	i.current, i.exited, i.killed = command, make(chan struct{}), false
	return nil
}

func (i *Instance) supervise() {
	defer close(i.done)
	for {
		_ = i.current.Wait() // Every end is handled alike.
		i.mu.Lock()
		crashed := !i.killed
		if crashed {
			i.crashes++
		}
		close(i.exited)
		i.mu.Unlock()
		if crashed {
			time.Sleep(crashDelay)
		}
		if i.live() != nil {
			return
		}
	}
}

// Kill sends SIGKILL and returns when the operator is dead; the next one starts at once.
func (i *Instance) Kill() { i.signal(syscall.SIGKILL) }

func (i *Instance) signal(signal syscall.Signal) {
	i.mu.Lock()
	command, exited := i.current, i.exited
	if command != nil {
		i.killed = true
		_ = command.Process.Signal(signal)
	}
	i.mu.Unlock()
	if command != nil {
		<-exited
	}
}

// Pause freezes the operator until Resume.
func (i *Instance) Pause() { i.tell(syscall.SIGSTOP) }

// Resume lets a paused operator go on.
func (i *Instance) Resume() { i.tell(syscall.SIGCONT) }

func (i *Instance) tell(signal syscall.Signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.current != nil {
		_ = i.current.Process.Signal(signal)
	}
}

// Crashes returns how often the operator ended by itself.
func (i *Instance) Crashes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.crashes
}

// PID returns the operator's process ID in the stand-in's process namespace; 0 if it does not run.
func (i *Instance) PID() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.current == nil || i.stopped {
		return 0
	}
	return i.current.Process.Pid
}

// Stop ends the operator and removes the instance.
func (i *Instance) Stop() {
	i.end()
	i.world.mu.Lock()
	defer i.world.mu.Unlock()
	delete(i.world.instances, i.Name)
	if i.world.guards[i.Namespace] == i.Guard {
		delete(i.world.guards, i.Namespace)
	}
	if i.world.guards[""] == nil {
		i.world.guards[""] = proxy.NewGuard()
	}
}

func (i *Instance) end() {
	i.mu.Lock()
	i.stopped = true
	i.mu.Unlock()
	i.signal(syscall.SIGKILL)
	<-i.done
	i.front.Close()
}
