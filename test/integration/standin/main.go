// standin plays the parts of Kubernetes that an API server without nodes lacks, for tests of the etcd operator: scheduler, kubelet,
// volumes and DNS, with real etcd processes. It also is a proxy between an operator and everything that the operator writes to: it
// records writes, disturbs them, and kills the operator at a chosen write.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

type command struct {
	name, summary string
	run           func(ctx context.Context, args []string) error
}

var commands = []command{
	{"serve", "play Pods until interrupted; a control interface takes instances of the operator and faults", serve},
	{"plans", "run the scenarios, and kill the operator at each write of each flow that was recorded", runPlans},
	{"hollow", "play thousands of Pods whose etcd answers and keeps nothing (for tools/bench.sh)", runHollow},
}

func usage() int {
	fmt.Fprintln(os.Stderr, "usage: standin COMMAND [FLAGS]   (standin COMMAND -h lists the flags)")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.summary)
	}
	return 2
}

func run() int {
	if len(os.Args) < 2 {
		return usage()
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == os.Args[1] })
	if i < 0 {
		return usage()
	}
	if inside, code := sandbox(); !inside {
		return code
	}
	if err := enterSandbox(); err != nil {
		fmt.Fprintln(os.Stderr, "standin: mount /proc:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := commands[i].run(ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		return 1
	}
	return 0
}

func main() { os.Exit(run()) }

// pairs is a repeatable flag of the form NAME=VALUE.
type pairs map[string]string

func (p pairs) String() string { return fmt.Sprint(map[string]string(p)) }

func (p pairs) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" || value == "" {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	p[name] = value
	return nil
}

func setLogLevel(debug bool) {
	if debug {
		slog.SetLogLoggerLevel(slog.LevelDebug)
	}
}
