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
	behindPort = "12379" // where etcd really listens for clients when something stands in front of it
	signalExit = 128     // a process that a signal ended exits with this plus the signal's number
)

// localize turns a container's command line into one that runs on this machine: wildcard addresses become the Pod's own,
// mounted paths become folders. behind says that the plaintext client port was moved, for somebody to stand before it.
func localize(command []string, ip string, mounts map[string]string) (args []string, behind bool) {
	for _, arg := range command[1:] {
		flag, value, assigned := strings.Cut(arg, "=")
		if !assigned {
			flag, value = "", arg
		}
		value = strings.ReplaceAll(value, "0.0.0.0", ip)
		for path, folder := range mounts {
			if value == path || strings.HasPrefix(value, path+"/") {
				value = folder + value[len(path):]
			}
		}
		if flag == "--listen-client-urls" && value == "http://"+ip+":"+clientPort {
			value = "http://" + ip + ":" + behindPort
			behind = true
		}
		if assigned {
			value = flag + "=" + value
		}
		args = append(args, value)
	}
	return args, behind
}

// process is one run of a container.
type process struct {
	command *exec.Cmd
	began   time.Time
	done    chan struct{} // closed when it has ended
	ended   kube.Terminated
}

func startProcess(binary string, args []string, log string) (*process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p := &process{command: exec.Command(binary, args...), began: time.Now(), done: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = output, output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	_ = p.command.Wait() // How it ended is in the state.
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
