package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const inSandbox = "STANDIN_IN_SANDBOX"

// sandbox runs the program again as PID 1 of a process namespace with its own mounts, and returns its exit code; in there it
// returns inside=true. So when this program ends in any way, its child processes end, too; and only they see its resolv.conf.
func sandbox() (inside bool, code int) {
	if os.Getenv(inSandbox) != "" {
		return true, 0
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), inSandbox+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	if os.Args[1] != "hollow" { // The benchmark measures an operator beside it.
		again.SysProcAttr.Setsid = true
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := again.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "standin: a process and a mount namespace are needed (root):", err)
		return false, 1
	}
	if again.SysProcAttr.Setsid {
		// Linux shares the processors between sessions. Real etcds come first, as the API server's does (start in tools/cluster/lib.sh):
		// one that starves elects leaders, and refuses. Signals come by way of this process, which stays in the caller's session.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", again.Process.Pid), []byte("-10"), 0) // Not every kernel has it.
	}
	go func() {
		for received := range signals {
			_ = again.Process.Signal(received)
		}
	}()
	_ = again.Wait() // The exit code has the result.
	if code = again.ProcessState.ExitCode(); code < 0 {
		code = 1
	}
	return false, code
}

// enterSandbox completes the sandbox: /proc shows the processes of this namespace.
func enterSandbox() error {
	os.Unsetenv(inSandbox)
	return syscall.Mount("proc", "/proc", "proc", 0, "")
}
