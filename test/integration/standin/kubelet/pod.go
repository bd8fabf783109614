package kubelet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"etcdop.test/standin/kube"
)

const (
	failing       = "/bin/false" // the program of a broken Pod
	etcdContainer = "etcd"
	// managerProgram is the path of the program in the operator's image, which Jobs run, too.
	managerProgram = "/manager"
	reportRetry    = 300 * time.Millisecond
	probeGrace     = 30 * time.Second // between SIGTERM and SIGKILL for a container that fails its probe
	resetAfter     = 60               // times Backoff: a container that ran for this long restarts at once
)

// run plays one Pod, from its scheduling to its end. Its goroutine owns everything except the ways to end it.
type run struct {
	k    *Kubelet
	pod  *kube.Pod
	meta *kube.Metadata
	// container is the container that runs; nil for foreign Pods, which are Ready without doing anything.
	container *kube.Container
	ip        string
	node      string // guarded by k.mu

	ctx    context.Context
	cancel context.CancelFunc
	grace  atomic.Int64 // the processes' grace period once ctx has ended
	gone   atomic.Bool  // the object is deleted: nothing is left to report or delete
	now    atomic.Pointer[process]
	ended  chan struct{} // closed at the end of play
	// secrets says that a mounted Secret may have changed.
	secrets chan struct{}

	status kube.PodStatus
	state  kube.ContainerStatus
}

func newRun(k *Kubelet, pod *kube.Pod) *run {
	r := &run{
		k: k, pod: pod, meta: &pod.Metadata, ip: k.Network.take(), node: pod.Spec.NodeName,
		ended: make(chan struct{}), secrets: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if i := slices.IndexFunc(pod.Spec.Containers, isOurs); i >= 0 {
		r.container = &pod.Spec.Containers[i]
		r.state = kube.ContainerStatus{Name: r.container.Name, Image: r.container.Image}
		if len(pod.Status.ContainerStatuses) > 0 { // An earlier stand-in played it; for the Pod that is a restart.
			r.state.RestartCount = pod.Status.ContainerStatuses[0].RestartCount + 1
		}
	}
	return r
}

// isOurs tells whether the stand-in has a program for the container.
func isOurs(c kube.Container) bool { return c.Name == etcdContainer || isManager(&c) }

// isManager tells whether a container runs the operator's program.
func isManager(c *kube.Container) bool { return len(c.Command) > 0 && c.Command[0] == managerProgram }

// terminate ends the run as a kubelet ends a deleted Pod.
func (r *run) terminate(grace time.Duration) {
	r.grace.Store(int64(grace))
	r.cancel()
}

// vanish ends the run of a Pod without an object, at once.
func (r *run) vanish() {
	r.gone.Store(true)
	r.terminate(0)
	if p := r.now.Load(); p != nil {
		p.signal(syscall.SIGKILL)
	}
}

func (r *run) log() string {
	return filepath.Join(r.k.Dir, "logs", r.meta.Namespace+"_"+r.meta.Name+".log")
}

func (r *run) pid() int {
	if p := r.now.Load(); p != nil {
		return p.command.Process.Pid
	}
	return 0
}

func (r *run) play() {
	defer r.cancel()
	var following sync.WaitGroup
	if r.schedule() {
		r.status.Phase, r.status.PodIP, r.status.PodIPs = "Pending", r.ip, []kube.PodIP{{IP: r.ip}}
		if name := r.pod.DNSName(); name != "" {
			r.k.Network.setName(name, r.ip)
			defer r.k.Network.dropName(name, r.ip)
		}
		if r.mountSecrets() {
			following.Go(r.followSecrets)
			r.runContainer()
		}
	}
	<-r.ctx.Done()
	following.Wait()
	r.remove()
}

func (r *run) runContainer() {
	if r.container == nil {
		r.pretend()
	} else if binary := r.pull(); binary != "" {
		r.keepRunning(binary)
	}
}

// schedule waits for the Pod's claims and binds it to the node with the fewest Pods of its namespace.
func (r *run) schedule() bool {
	if r.pod.Spec.NodeName != "" {
		return true
	}
	for last := ""; ; {
		r.k.mu.Lock()
		changed := r.k.changed
		r.k.mu.Unlock()
		obstacle := r.obstacle()
		if obstacle == "" {
			break
		}
		if obstacle != last {
			last = obstacle
			r.status.Phase = "Pending"
			r.setCondition("PodScheduled", "False", "Unschedulable", obstacle)
			r.report()
		}
		select {
		case <-r.ctx.Done():
			return false
		case <-changed:
		}
	}
	node := r.k.assignNode(r)
	binding := map[string]any{
		"metadata": map[string]any{"name": r.meta.Name, "uid": r.meta.UID},
		"target":   map[string]any{"kind": "Node", "name": node},
	}
	for {
		err := r.k.Client.Create(r.ctx, r.meta.Path(kube.Pods, "binding"), binding)
		if err == nil {
			r.setCondition("PodScheduled", "True", "", "")
			return true
		}
		if !sleep(r.ctx, reportRetry) {
			return false
		}
	}
}

// obstacle says, as the scheduler words it, why the Pod cannot be bound to a node.
func (r *run) obstacle() string {
	for _, volume := range r.pod.Spec.Volumes {
		if volume.PVC == nil {
			continue
		}
		claim := r.k.PVCs.Get(r.meta.Namespace, volume.PVC.ClaimName)
		switch {
		case claim == nil:
			return fmt.Sprintf("0/%d nodes are available: persistentvolumeclaim %q not found.", nodes, volume.PVC.ClaimName)
		case claim.Metadata.DeletionTimestamp != nil:
			return fmt.Sprintf("0/%d nodes are available: persistentvolumeclaim %q is being deleted.", nodes, volume.PVC.ClaimName)
		case claim.Status.Phase != "Bound":
			return fmt.Sprintf("0/%d nodes are available: pod has unbound immediate PersistentVolumeClaims.", nodes)
		}
	}
	return ""
}

// assignNode binds the Pod to the node with the fewest Pods of its namespace.
func (k *Kubelet) assignNode(r *run) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	load := map[string]int{}
	for _, other := range k.runs {
		if other.meta.Namespace == r.meta.Namespace {
			load[other.node]++
		}
	}
	r.node = nodeName(1)
	for i := 2; i <= nodes; i++ {
		if name := nodeName(i); load[name] < load[r.node] {
			r.node = name
		}
	}
	return r.node
}

// pretend reports a foreign Pod as Running and Ready.
func (r *run) pretend() {
	now := time.Now()
	r.status.Phase, r.status.StartTime = "Running", &now
	for _, container := range r.pod.Spec.Containers {
		r.status.ContainerStatuses = append(r.status.ContainerStatuses, kube.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: true,
			State: kube.ContainerState{Running: &kube.Running{StartedAt: now}},
		})
	}
	r.setReady(true)
	r.report()
}

// pull waits until the image is available and returns its program.
func (r *run) pull() string {
	for tries := 0; ; tries++ {
		if binary := r.k.binary(r.meta.Namespace, r.container); binary != "" {
			return binary
		}
		r.wait("ErrImagePull", fmt.Sprintf("failed to pull and unpack image %q: not found", r.container.Image))
		r.wait("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q", r.container.Image))
		if !sleep(r.ctx, r.k.backoff(tries)) {
			return ""
		}
	}
}

// wait reports the container as waiting.
func (r *run) wait(reason, message string) {
	r.state.State = kube.ContainerState{Waiting: &kube.Waiting{Reason: reason, Message: message}}
	r.state.Ready, r.state.Started = false, false
	r.setReady(false)
	r.report()
}

// backoff is the wait after this many failed tries.
func (k *Kubelet) backoff(tries int) time.Duration {
	return min(k.Backoff<<min(tries, 10), maxBackoff*k.Backoff)
}

// PullWait is the longest time until the next pull of an image that has been missing for this long: the waits double, so the
// present one is a Backoff longer than the sum of all earlier ones.
func (k *Kubelet) PullWait(missed time.Duration) time.Duration {
	return min(missed+k.Backoff, maxBackoff*k.Backoff)
}

// keepRunning runs the container again and again until the Pod must end, or has ended by its restart policy.
func (r *run) keepRunning(binary string) {
	mounts := r.mounts()
	args, at := localize(slices.Concat(r.container.Command, r.container.Args), r.ip, mounts)
	isEtcd := r.container.Name == etcdContainer
	if isEtcd {
		args = append(args, r.k.ExtraArgs...)
	}
	failures := 0
	for r.ctx.Err() == nil {
		variables, known := r.variables(mounts)
		if !known {
			return
		}
		if isEtcd {
			r.noteBirth(args)
		}
		program := binary
		if r.k.isBroken(r.meta) {
			program = failing
		}
		p, err := startProcess(program, args, variables, r.log())
		if err != nil {
			slog.Error("start", "pod", r.meta.Key(), "error", err)
			return
		}
		r.now.Store(p)
		if r.gone.Load() { // vanish ran before the process was stored
			p.signal(syscall.SIGKILL)
		}
		r.supervise(p, at)
		r.now.Store(nil)
		slog.Debug("ended", "pod", r.meta.Key(), "exit", p.ended.ExitCode)
		p.ended.Message = r.lastWords(p.ended.ExitCode != 0)
		r.state.State = kube.ContainerState{Terminated: &p.ended}
		r.state.Ready, r.state.Started = false, false
		if r.finished(p.ended.ExitCode) || r.ctx.Err() != nil {
			return
		}
		r.setReady(false)
		r.report()
		if p.ended.FinishedAt.Sub(p.began) > resetAfter*r.k.Backoff {
			failures = 0
		}
		r.state.LastState = r.state.State
		if failures > 0 { // A kubelet restarts at once the first time.
			delay := r.k.backoff(failures - 1)
			r.wait("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", delay,
				r.container.Name, r.meta.Name))
			if !sleep(r.ctx, delay) {
				return
			}
		}
		failures++
		r.state.RestartCount++
	}
}

// finished reports the end of a Pod that must not restart. A Job waits for that, also for a deleted Pod.
func (r *run) finished(exitCode int) bool {
	switch {
	case r.pod.Spec.RestartPolicy == "Never" && exitCode != 0:
		r.status.Phase = "Failed"
	case r.pod.Spec.RestartPolicy == "Never", r.pod.Spec.RestartPolicy == "OnFailure" && exitCode == 0:
		r.status.Phase = "Succeeded"
	default:
		return false
	}
	r.setReady(false)
	r.reportUntil(context.WithoutCancel(r.ctx))
	return true
}

// mounts maps the container's mounted paths to folders: a claim's by the claim's UID, another volume's by the Pod's.
func (r *run) mounts() map[string]string {
	folders := map[string]string{}
	for _, mount := range r.container.VolumeMounts {
		folder := r.volumeFolder(mount.Name)
		for _, volume := range r.pod.Spec.Volumes {
			if volume.Name != mount.Name || volume.PVC == nil {
				continue
			}
			if claim := r.k.PVCs.Get(r.meta.Namespace, volume.PVC.ClaimName); claim != nil {
				folder = r.k.folder(claim.Metadata.UID)
			}
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			slog.Error("mount", "pod", r.meta.Key(), "error", err)
		}
		folders[mount.MountPath] = folder
	}
	return folders
}

// noteBirth records a start on an empty data directory: two of them with state "new" are two clusters.
func (r *run) noteBirth(args []string) {
	birth := Birth{Pod: r.meta.Name}
	for _, arg := range args {
		if dir, found := strings.CutPrefix(arg, "--data-dir="); found {
			if _, err := os.Stat(filepath.Join(dir, "member")); err == nil {
				return
			}
		}
		if state, found := strings.CutPrefix(arg, "--initial-cluster-state="); found {
			birth.State = state
		}
	}
	r.k.born(r.meta.Namespace, birth)
}

// standBefore starts the proxies in front of etcd's ports; the caller closes them when etcd has ended.
func (r *run) standBefore(at moved) (fronts []io.Closer) {
	keep := func(front io.Closer, err error) {
		if err != nil {
			slog.Error("front", "pod", r.meta.Key(), "error", err)
		} else {
			fronts = append(fronts, front)
		}
	}
	if at.client && r.k.Front != nil {
		keep(r.k.Front(r.pod, r.ip+":"+clientPort, r.ip+":"+behindPort, at.secure))
	}
	if at.peer {
		keep(servePeers(r.ip+":"+peerPort, r.ip+":"+peerBehindPort, r.caller))
	}
	return fronts
}

// supervise reports on a process until it has ended; it ends the process when the Pod must end or a probe fails for good.
func (r *run) supervise(p *process, at moved) {
	for _, front := range r.standBefore(at) {
		defer front.Close()
	}
	r.state.State = kube.ContainerState{Running: &kube.Running{StartedAt: p.began}}
	r.status.Phase, r.status.StartTime = "Running", &p.began
	r.setReady(false)
	r.report()
	probing, stopProbing := context.WithCancel(r.ctx)
	defer stopProbing()
	events := make(chan health)
	go watchHealth(probing, r.container, r.ip, r.k.ProbeSpeed, events)
	for {
		select {
		case <-p.done:
			return
		case <-r.ctx.Done():
			p.stop(time.Duration(r.grace.Load()))
			return
		case event := <-events:
			switch event {
			case started:
				r.state.Started = true
			case ready, unready:
				r.state.Ready = event == ready
			case unlively:
				slog.Info("killed by its probe", "pod", r.meta.Key())
				go p.stop(probeGrace)
			}
			r.setReady(r.state.Ready)
			r.report()
		}
	}
}

func (r *run) setReady(ready bool) {
	status, reason := "True", ""
	if !ready {
		status, reason = "False", "ContainersNotReady"
	}
	r.setCondition("Initialized", "True", "", "")
	r.setCondition("ContainersReady", status, reason, "")
	r.setCondition("Ready", status, reason, "")
}

func (r *run) setCondition(kind, status, reason, message string) {
	i := slices.IndexFunc(r.status.Conditions, func(c kube.Condition) bool { return c.Type == kind })
	if i < 0 {
		r.status.Conditions = append(r.status.Conditions, kube.Condition{Type: kind})
		i = len(r.status.Conditions) - 1
	}
	condition := &r.status.Conditions[i]
	if condition.Status != status {
		condition.Status, condition.LastTransitionTime = status, time.Now()
	}
	condition.Reason, condition.Message = reason, message
}

// report writes the Pod's status; it retries until the write succeeds, the Pod was replaced, or it must end.
func (r *run) report() { r.reportUntil(r.ctx) }

func (r *run) reportUntil(ctx context.Context) {
	if r.container != nil && r.status.PodIP != "" {
		r.status.ContainerStatuses = []kube.ContainerStatus{r.state}
	}
	patch := map[string]any{"metadata": map[string]any{"uid": r.meta.UID}, "status": r.status}
	for {
		err := r.k.Client.Patch(ctx, r.meta.Path(kube.Pods, "status"), patch)
		code := kube.Code(err)
		if err == nil || code == http.StatusNotFound || code == http.StatusConflict || code == http.StatusUnprocessableEntity {
			if code == http.StatusUnprocessableEntity {
				slog.Error("status", "pod", r.meta.Key(), "error", err)
			}
			return
		}
		if r.gone.Load() || !sleep(ctx, reportRetry) {
			return
		}
	}
}

// remove deletes the object and the private files of a Pod whose processes have ended.
func (r *run) remove() {
	leftovers, _ := filepath.Glob(r.k.folder(r.meta.UID + "-*"))
	for _, folder := range leftovers {
		os.RemoveAll(folder)
	}
	options := map[string]any{"gracePeriodSeconds": 0, "preconditions": map[string]any{"uid": r.meta.UID}}
	for tries := 0; !r.gone.Load() && tries < 100; tries++ {
		err := r.k.Client.Delete(context.Background(), r.meta.Path(kube.Pods), options)
		code := kube.Code(err)
		if err == nil || code == http.StatusNotFound || code == http.StatusConflict {
			return
		}
		time.Sleep(reportRetry)
	}
}
