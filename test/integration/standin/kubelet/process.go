package kubelet

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"etcdop.test/standin/kube"
)

const (
	clientPort = "2379"
	peerPort   = "2380"
	// The ports where etcd really listens behind a proxy.
	behindPort     = "12379"
	peerBehindPort = "12380"
	signalExit     = 128 // a process that a signal ended exits with this plus the signal's number
)

// moved says which of etcd's ports were moved, so that a proxy can take their place.
type moved struct {
	client bool
	secure *ClientTLS // the client port's; nil: plaintext
	peer   bool
}

// localize adapts a container's command line to this machine: wildcard addresses become the Pod's own, mounted paths become
// folders. The client port moves, and the peer port if it speaks TLS.
func localize(command []string, ip string, mounts map[string]string) (args []string, at moved) {
	for _, arg := range command[1:] {
		flag, value, assigned := strings.Cut(arg, "=")
		if !assigned {
			flag, value = "", arg
		}
		value = onDisk(strings.ReplaceAll(value, "0.0.0.0", ip), mounts)
		switch {
		case flag == "--listen-client-urls" && isOn(value, ip, clientPort):
			value = strings.TrimSuffix(value, clientPort) + behindPort
			at.client = true
		case flag == "--listen-peer-urls" && value == "https://"+ip+":"+peerPort:
			value = strings.TrimSuffix(value, peerPort) + peerBehindPort
			at.peer = true
		}
		if assigned {
			value = flag + "=" + value
		}
		args = append(args, value)
	}
	at.secure = clientTLS(args)
	return args, at
}

func isOn(url, ip, port string) bool {
	return url == "http://"+ip+":"+port || url == "https://"+ip+":"+port
}

// onDisk replaces the longest matching mount path by its folder.
func onDisk(path string, mounts map[string]string) string {
	longest := ""
	for mount := range mounts {
		if (path == mount || strings.HasPrefix(path, mount+"/")) && len(mount) > len(longest) {
			longest = mount
		}
	}
	if longest == "" {
		return path
	}
	return mounts[longest] + path[len(longest):]
}

// clientTLS is the client port's TLS from etcd's flags, or nil.
func clientTLS(args []string) *ClientTLS {
	flag := func(name string) string {
		for _, arg := range args {
			if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
				return value
			}
		}
		return ""
	}
	secure := &ClientTLS{
		Cert: flag("cert-file"), Key: flag("key-file"), ClientCA: flag("trusted-ca-file"),
	}
	if secure.Cert == "" {
		return nil
	}
	return secure
}

// process is one run of a container.
type process struct {
	command *exec.Cmd
	began   time.Time
	done    chan struct{} // closed when the process has ended
	ended   kube.Terminated
}

// startProcess starts the process with only these variables.
func startProcess(binary string, args, variables []string, log string) (*process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p := &process{command: exec.Command(binary, args...), began: time.Now(), done: make(chan struct{})}
	p.command.Stdout, p.command.Stderr, p.command.Env = output, output, variables
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	_ = p.command.Wait() // The state has the result.
	p.ended = kube.Terminated{
		ExitCode: p.command.ProcessState.ExitCode(), Reason: "Completed", StartedAt: p.began, FinishedAt: time.Now(),
	}
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.ended.Signal = int(status.Signal())
		p.ended.ExitCode = signalExit + p.ended.Signal
	}
	if p.ended.ExitCode != 0 {
		p.ended.Reason = "Error"
	}
	close(p.done)
}

func (p *process) signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// stop ends the process as a kubelet does: SIGTERM, and SIGKILL after the grace period.
func (p *process) stop(grace time.Duration) {
	if grace > 0 {
		p.signal(syscall.SIGTERM)
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}
