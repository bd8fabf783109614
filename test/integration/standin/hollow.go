package main

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"time"

	"etcdop.test/standin/hollow"
	"etcdop.test/standin/kube"
)

func runHollow(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("hollow", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "`file` of an API server where we may do everything")
	written := flags.String("control", "", "`file` to write the address of the control interface to")
	debug := flags.Bool("debug", false, "log more")
	if err := flags.Parse(args); err != nil {
		return err
	}
	setLogLevel(*debug)
	client, err := kube.FromKubeconfig(ctx, *kubeconfig)
	if err != nil {
		return err
	}
	world, err := hollow.New(client)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: world.Control(), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	defer server.Close()
	if *written != "" {
		if err := os.WriteFile(*written, []byte(listener.Addr().String()+"\n"), 0o644); err != nil {
			return err
		}
	}
	return world.Run(ctx)
}
