package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"syscall"

	"etcdop.test/standin/kubelet"
	"etcdop.test/standin/proxy"
	"etcdop.test/standin/world"
)

// controlHelp is what GET / answers.
const controlHelp = `GET    /pods                               Pods being played: address, pid, log
POST   /pods/{ns}/{name}/signal/{number}   a signal to the Pod's process, 9 for kill -9
POST   /images/{namespace}/{on|off}        whether Pods of a namespace can pull images of etcd
POST   /reverse/{ns}/{answer}              how DNS answers for addresses: named|unknown|refused|silent
POST   /instances                          {"name","namespace","command":[…],"env":[…],"actAs"}: proxies and an operator
GET    /instances/{name}                   its kubeconfig, pid, log, crashes, requests
DELETE /instances/{name}                   ends it
POST   /instances/{name}/kill              SIGKILL; it is started again
POST   /instances/{name}/begin/{phase}     counts writes from 0; body, if any: {"name" or "seq", "fate": before|after|lost|lost-alive}
GET    /instances/{name}/writes            writes of the phase as JSON lines
POST   /instances/{name}/rules             {"side","method","path","action": status|reset|hang|lost|delay|stall,"code","message",
                                            "retryAfter","delay","times"}: a fault; answers {"id"}
DELETE /instances/{name}/rules/{id}        ends the fault
`

// control is the HTTP interface to a world.
func control(w *world.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, controlHelp) })
	mux.HandleFunc("GET /pods", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Kubelet.Running(), nil) })
	mux.HandleFunc("POST /pods/{namespace}/{name}/signal/{number}", func(rw http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(r.PathValue("number"))
		if err == nil && !w.Kubelet.Signal(r.PathValue("namespace"), r.PathValue("name"), syscall.Signal(number)) {
			err = fmt.Errorf("no process runs for this Pod")
		}
		answer(rw, struct{}{}, err)
	})
	mux.HandleFunc("POST /images/{namespace}/{state}", func(rw http.ResponseWriter, r *http.Request) {
		w.Kubelet.SetImages(r.PathValue("namespace"), r.PathValue("state") != "off")
		answer(rw, struct{}{}, nil)
	})
	mux.HandleFunc("POST /reverse/{namespace}/{answer}",
		func(rw http.ResponseWriter, r *http.Request) {
			err := w.Kubelet.Network.SetReverse(r.PathValue("namespace"),
				kubelet.Reverse(r.PathValue("answer")))
			answer(rw, struct{}{}, err)
		})
	mux.HandleFunc("POST /instances", func(rw http.ResponseWriter, r *http.Request) {
		var spec world.Spec
		err := json.NewDecoder(r.Body).Decode(&spec)
		if err == nil && spec.Name == "" {
			err = fmt.Errorf("name is needed")
		}
		if err != nil {
			answer(rw, nil, err)
			return
		}
		instance, err := w.NewInstance(spec)
		if err != nil {
			answer(rw, nil, err)
			return
		}
		answer(rw, describe(instance), nil)
	})
	on := func(pattern string, handle func(http.ResponseWriter, *http.Request, *world.Instance)) {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			if instance := w.Instance(r.PathValue("name")); instance != nil {
				handle(rw, r, instance)
			} else {
				http.Error(rw, "no such instance", http.StatusNotFound)
			}
		})
	}
	on("GET /instances/{name}", func(rw http.ResponseWriter, _ *http.Request, i *world.Instance) { answer(rw, describe(i), nil) })
	on("DELETE /instances/{name}", func(rw http.ResponseWriter, _ *http.Request, i *world.Instance) {
		i.Stop()
		answer(rw, struct{}{}, nil)
	})
	on("POST /instances/{name}/kill", func(rw http.ResponseWriter, _ *http.Request, i *world.Instance) {
		i.Kill()
		answer(rw, struct{}{}, nil)
	})
	on("POST /instances/{name}/begin/{phase}", func(rw http.ResponseWriter, r *http.Request, i *world.Instance) {
		var trigger *proxy.Trigger
		if r.ContentLength != 0 {
			trigger = new(proxy.Trigger)
			if err := json.NewDecoder(r.Body).Decode(trigger); err != nil {
				answer(rw, nil, err)
				return
			}
		}
		i.Guard.Begin(r.PathValue("phase"), trigger)
		answer(rw, struct{}{}, nil)
	})
	on("GET /instances/{name}/writes", func(rw http.ResponseWriter, _ *http.Request, i *world.Instance) {
		rw.Header().Set("Content-Type", "application/jsonl")
		_, _ = rw.Write(proxy.Recording(i.Guard.Writes()))
	})
	on("POST /instances/{name}/rules", func(rw http.ResponseWriter, r *http.Request, i *world.Instance) {
		var rule proxy.Rule
		err := json.NewDecoder(r.Body).Decode(&rule)
		if err == nil {
			rule.ID, err = i.Guard.AddRule(rule)
		}
		answer(rw, map[string]int{"id": rule.ID}, err)
	})
	on("DELETE /instances/{name}/rules/{id}", func(rw http.ResponseWriter, r *http.Request, i *world.Instance) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err == nil && !i.Guard.DropRule(id) {
			err = fmt.Errorf("no rule %d", id)
		}
		answer(rw, struct{}{}, err)
	})
	return mux
}

func describe(i *world.Instance) any {
	return struct {
		Kubeconfig string `json:"kubeconfig"`
		Log        string `json:"log"`
		PID        int    `json:"pid"`
		Crashes    int    `json:"crashes"`
		Requests   int    `json:"requests"`
	}{i.Kubeconfig, i.Log, i.PID(), i.Crashes(), i.Guard.Requests()}
}

func answer(rw http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(value) // the caller may be gone
}
