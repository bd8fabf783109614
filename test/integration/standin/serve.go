package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"etcdop.test/standin/kube"
	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/world"
)

// worldFlags are the flags of every command that plays a world.
type worldFlags struct {
	kubeconfig, dir, manager string
	etcd                     pairs
	probeSpeed               int
	backoff                  time.Duration
	debug                    bool
}

func (w *worldFlags) add(flags *flag.FlagSet) {
	w.etcd = pairs{}
	flags.StringVar(&w.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "`file` of an API server where we may do everything")
	flags.StringVar(&w.dir, "dir", "", "`folder` for volumes, logs and recordings")
	flags.Var(w.etcd, "etcd", "`VERSION=FOLDER` with the programs of an etcd version; once for each version")
	flags.StringVar(&w.manager, "manager", "", "`program` that Pods run whose command is /manager, such as those of snapshot Jobs")
	flags.IntVar(&w.probeSpeed, "probe-speed", 5, "startup and readiness probes run so many times as often as the Pods say")
	flags.DurationVar(&w.backoff, "backoff", time.Second, "first wait before a container's restart or another pull of its image (a kubelet: 10s)")
	flags.BoolVar(&w.debug, "debug", false, "log more")
}

func (w *worldFlags) start(ctx context.Context) (*world.World, error) {
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
	binaries := map[string]string{}
	for version, folder := range w.etcd {
		binaries[version] = filepath.Join(folder, "etcd")
	}
	return world.Start(ctx, kubelet.Config{
		Client: client, Dir: dir, Etcd: binaries, Manager: w.manager, ExtraArgs: []string{"--unsafe-no-fsync"},
		ProbeSpeed: w.probeSpeed, Backoff: w.backoff,
	})
}

func serve(ctx context.Context, args []string) error {
	var flagged worldFlags
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	flagged.add(flags)
	address := flags.String("control", "127.0.0.1:0", "`address` of the control interface (GET / explains it); written to DIR/control")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w, err := flagged.start(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "control"), []byte(listener.Addr().String()+"\n"), 0o644); err != nil {
		return err
	}
	server := &http.Server{Handler: control(w), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	defer server.Close()
	return w.Wait()
}
