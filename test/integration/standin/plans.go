package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"etcdop.test/standin/plans"
	"etcdop.test/standin/proxy"
)

// These shares of the kill plans may miss their write, because writes differ from run to run: while the garbage collector deletes
// a cluster, an operator that sees the EtcdMembers' end before the EtcdCluster's labels their Pods, once in about ten runs. If a
// recording has these labels, nearly all of their 12 plans miss them; all flows together have some 630 plans.
const (
	missedOfSample = 0.1
	missedOfAll    = 0.02
)

func runPlans(ctx context.Context, args []string) error {
	var flagged worldFlags
	flags := flag.NewFlagSet("plans", flag.ExitOnError)
	flagged.add(flags)
	operator := flags.String("operator", "", "`command` line of the operator under test, where {kubeconfig} and {namespace} are replaced;"+
		" without it only the tests of the stand-in run")
	actAs := flags.String("act-as", "", "the `user` that the operator is to the API server; by default it may do everything")
	version := flags.String("version", "3.6.16", "etcd `version` of the clusters")
	parallel := flags.Int("parallel", 8, "how many cases run side by side")
	sample := flags.Uint64("sample", 0, "run one kill plan of each kind of write of each flow, chosen by this `seed`; 0: all")
	only := flags.String("only", "", "run only the cases whose name contains one of these `words`, separated by |; flows that are needed run too")
	kills := flags.Bool("kills", true, "run the kill plans")
	limit := flags.Duration("limit", 30*time.Minute, "for one case")
	if err := flags.Parse(args); err != nil {
		return err
	}
	started := time.Now()
	w, err := flagged.start(ctx)
	if err != nil {
		return err
	}
	var output sync.Mutex
	runner := &plans.Runner{
		World: w, Operator: strings.Fields(*operator), ActAs: *actAs, Version: *version, Parallel: *parallel, Limit: *limit,
		Print: func(format string, arguments ...any) {
			output.Lock()
			defer output.Unlock()
			fmt.Printf(format+"\n", arguments...)
		},
	}
	var words []string
	if *only != "" {
		words = strings.Split(*only, "|")
	}
	recorder := &plans.Recorder{Dir: flagged.dir}
	undisturbed := recorder.Undisturbed()
	scenarios := plans.Only(plans.Scenarios, words)
	switch {
	case *operator == "":
		runner.Run(ctx, plans.WithoutOperator(scenarios))
	case !*kills:
		runner.Run(ctx, append(plans.Only(undisturbed, words), scenarios...))
	default:
		// The recordings run alone, so that they show the operator and not the machine's load.
		runner.Run(ctx, plans.Needed(undisturbed, words))
		all := recorder.Kills(proxy.Fates)
		share := missedOfAll
		if *sample != 0 {
			// After and Lost have the same result: the write is done and its sender is dead.
			all = plans.OneOfEachKind(recorder.Kills([]proxy.Fate{proxy.Before, proxy.Lost, proxy.LostAlive}), *sample)
			share = missedOfSample
			fmt.Printf("%d kill plans, one of each kind of write: --sample %d\n", len(all), *sample)
		}
		all = plans.Only(all, words)
		runner.Run(ctx, plans.Alternately(scenarios, all))
		runner.Judge(int(share * float64(len(all))))
	}
	fmt.Printf("recordings and logs: %s; %.0f s; %d plans missed their write\n", filepath.Clean(flagged.dir), time.Since(started).Seconds(), len(runner.Missed))
	fmt.Printf("%d passed, %d failed\n", runner.Passed, runner.Failed)
	if runner.Failed > 0 || runner.Passed == 0 || ctx.Err() != nil {
		return errors.New("not all passed")
	}
	return nil
}
