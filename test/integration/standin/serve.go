package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
)

// worldFlags are the flags of every command that plays a world.
type worldFlags struct {
	kubeconfig, dir string
	etcd            pairs
	probeSpeed      int
	backoff         time.Duration
	debug           bool
}

func (w *worldFlags) add(flags *flag.FlagSet) {
	w.etcd = pairs{}
	flags.StringVar(&w.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "`file` of an API server where we may do everything")
	flags.StringVar(&w.dir, "dir", "", "`folder` for volumes, logs and recordings")
	flags.Var(w.etcd, "etcd", "`VERSION=FOLDER` with the programs of an etcd version; once for each version")
	flags.IntVar(&w.probeSpeed, "probe-speed", 1, "startup and readiness probes run so many times as often as the Pods say")
	flags.DurationVar(&w.backoff, "backoff", 10*time.Second, "first wait before a container's restart or another pull of its image")
	flags.BoolVar(&w.debug, "debug", false, "log more")
}

func (w *worldFlags) start(ctx context.Context) (*kubelet.Kubelet, error) {
	setLogLevel(w.debug)
	if w.dir == "" || len(w.etcd) == 0 {
		return nil, errors.New("--dir and at least one --etcd are needed")
	}
	client, err := kube.FromKubeconfig(ctx, w.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	dir, err := filepath.Abs(w.dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	network, err := kubelet.NewNetwork(dir)
	if err != nil {
		return nil, err
	}
	binaries := map[string]string{}
	for version, folder := range w.etcd {
		binaries[version] = filepath.Join(folder, "etcd")
	}
	return kubelet.New(kubelet.Config{
		Client: client, Dir: dir, Etcd: binaries, ExtraArgs: []string{"--unsafe-no-fsync"},
		ProbeSpeed: w.probeSpeed, Backoff: w.backoff, Network: network,
	}, func(string) {}), nil
}

func serve(ctx context.Context, args []string) error {
	var world worldFlags
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	world.add(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	player, err := world.start(ctx)
	if err != nil {
		return err
	}
	return player.Run(ctx)
}
