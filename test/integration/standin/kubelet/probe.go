package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"etcdop.test/standin/kube"
)

// health is the result of a container's probes; only changes are sent.
type health int

const (
	started  health = iota // the startup probe succeeded, or there is none
	ready                  // the readiness probe succeeded
	unready                // the readiness probe fails
	unlively               // the startup or the liveness probe failed for good: the container must be killed
)

const fastestPeriod = 200 * time.Millisecond

var probeTransport = &http.Transport{DisableKeepAlives: true}

// watchHealth runs a container's probes until ctx ends. speed divides the periods of the startup and readiness probes.
func watchHealth(ctx context.Context, container *kube.Container, ip string, speed int, events chan<- health) {
	report := func(event health) {
		select {
		case events <- event:
		case <-ctx.Done():
		}
	}
	if !passes(ctx, container, container.StartupProbe, ip, speed) {
		report(unlively)
		return
	}
	report(started)
	go func() {
		if follow(ctx, container, container.LivenessProbe, ip, 1, func(ok bool) bool { return ok }) {
			report(unlively)
		}
	}()
	follow(ctx, container, container.ReadinessProbe, ip, speed, func(ok bool) bool {
		if ok {
			report(ready)
		} else {
			report(unready)
		}
		return true
	})
}

// passes waits for a startup probe; false if it failed too often, or ctx ended.
func passes(ctx context.Context, container *kube.Container, probe *kube.Probe, ip string, speed int) bool {
	passed := false
	return !follow(ctx, container, probe, ip, speed, func(ok bool) bool {
		passed = ok
		return false
	}) || passed
}

// follow runs one probe periodically and calls change when its verdict changes (failures below the threshold are no change). It
// returns true when change returns false. Without a probe the verdict is a success at once.
func follow(ctx context.Context, container *kube.Container, probe *kube.Probe, ip string, speed int, change func(ok bool) bool) bool {
	if probe == nil {
		return !change(true)
	}
	period := max(time.Duration(probe.PeriodSeconds)*time.Second/time.Duration(speed), fastestPeriod)
	sleep(ctx, time.Duration(probe.InitialDelaySeconds)*time.Second/time.Duration(speed))
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	verdict, known, streak, last := false, false, 0, false
	for ctx.Err() == nil {
		ok := attempt(ctx, container, probe, ip)
		if ok != last {
			last, streak = ok, 0
		}
		streak++
		threshold := probe.FailureThreshold
		if ok {
			threshold = probe.SuccessThreshold
		}
		if ctx.Err() == nil && streak >= threshold && (!known || verdict != ok) {
			verdict, known = ok, true
			if !change(ok) {
				return true
			}
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
	return false
}

func attempt(ctx context.Context, container *kube.Container, probe *kube.Probe, ip string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	if probe.TCPSocket != nil {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(ip, portOf(container, probe.TCPSocket.Port)))
		if err == nil {
			connection.Close()
		}
		return err == nil
	}
	if probe.HTTPGet == nil {
		return true
	}
	url := fmt.Sprintf("http://%s%s", net.JoinHostPort(ip, portOf(container, probe.HTTPGet.Port)), probe.HTTPGet.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := probeTransport.RoundTrip(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode >= 200 && response.StatusCode < 400
}

// portOf resolves a probe's port, which is a number or the name of one of the container's ports.
func portOf(container *kube.Container, port json.RawMessage) string {
	var name string
	if json.Unmarshal(port, &name) != nil {
		return string(port)
	}
	for _, candidate := range container.Ports {
		if candidate.Name == name {
			return strconv.Itoa(candidate.ContainerPort)
		}
	}
	return name
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
