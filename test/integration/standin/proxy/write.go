// Package proxy stands between an operator instance and its two write targets, the API server and etcd. It sees each request,
// numbers the writes, and decides their fate.
package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Side is the target of a request.
type Side string

// The two sides.
const (
	API  Side = "api"
	Etcd Side = "etcd"
)

// Write is a recorded request that changes something.
type Write struct {
	Seq    int       `json:"seq"` // within its phase, from 1; the number of a refused write is used again
	At     time.Time `json:"at"`
	Phase  string    `json:"phase,omitempty"`
	Side   Side      `json:"side"`
	Verb   string    `json:"verb"`
	Target string    `json:"target"` // resource, name and subresource, or RPC; names that differ from run to run are numbered
	Nth    int       `json:"nth"`    // its number among the writes of this verb and target
	Code   int       `json:"code"`   // HTTP code of the API's answer, gRPC code of etcd's; -1 without an answer
	Fate   Fate      `json:"fate,omitempty"`

	begun, index int // the phase, and the index in its list
}

// Name identifies the write in a way that is equal in other runs.
func (w *Write) Name() string { return fmt.Sprintf("%s #%d", w.Kind(), w.Nth) }

// Kind is the write's verb and target.
func (w *Write) Kind() string { return w.Verb + " " + w.Target }

// Refused tells that the server refused it. Without an answer, neither Refused nor Accepted is true.
func (w *Write) Refused() bool {
	if w.Side == API {
		return w.Code >= http.StatusBadRequest
	}
	return w.Code > 0
}

// Accepted tells that the server carried it out.
func (w *Write) Accepted() bool { return w.Code >= 0 && !w.Refused() }

// etcdWrites are the RPCs that change something.
var etcdWrites = map[string]bool{
	"/etcdserverpb.Cluster/MemberAdd": true, "/etcdserverpb.Cluster/MemberRemove": true,
	"/etcdserverpb.Cluster/MemberUpdate": true, "/etcdserverpb.Cluster/MemberPromote": true,
	"/etcdserverpb.KV/Put": true, "/etcdserverpb.KV/DeleteRange": true, "/etcdserverpb.KV/Txn": true, "/etcdserverpb.KV/Compact": true,
	"/etcdserverpb.Maintenance/MoveLeader": true, "/etcdserverpb.Maintenance/Defragment": true,
	"/etcdserverpb.Maintenance/Alarm": true, "/etcdserverpb.Maintenance/Downgrade": true,
	"/etcdserverpb.Auth/AuthEnable": true, "/etcdserverpb.Auth/AuthDisable": true, "/etcdserverpb.Auth/UserAdd": true,
	"/etcdserverpb.Auth/UserGrantRole": true, "/etcdserverpb.Auth/RoleAdd": true,
	"/etcdserverpb.Auth/UserChangePassword": true,
}

// etcdWrite returns nil for a request that only reads.
func etcdWrite(request *http.Request) *Write {
	if !etcdWrites[request.URL.Path] {
		return nil
	}
	service, rpc, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/etcdserverpb."), "/")
	return &Write{Side: Etcd, Verb: rpc, Target: service}
}

// apiWrite returns nil for a request that only reads, and for those of the Lease, which depend on time.
func apiWrite(request *http.Request, body []byte, names *namer) *Write {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) > 2 && parts[0] == "api" {
		parts = parts[2:]
	} else if len(parts) > 3 && parts[0] == "apis" {
		parts = parts[3:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource := parts[0]
	if resource == "leases" || strings.HasSuffix(resource, "reviews") || request.URL.Query().Has("dryRun") {
		return nil
	}
	if request.Method == http.MethodPost && len(parts) == 1 {
		var object struct {
			Metadata struct{ Name, GenerateName string }
		}
		if json.Unmarshal(body, &object) == nil {
			if object.Metadata.Name == "" {
				object.Metadata.Name = object.Metadata.GenerateName + "*"
			}
			parts = append(parts, object.Metadata.Name)
		}
	}
	return &Write{Side: API, Verb: request.Method, Target: names.plain(strings.Join(parts, "/"))}
}

// namer replaces random parts of names by numbers in the order of appearance.
type namer struct {
	numbers map[string]int
}

var (
	memberSuffix = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	eventSuffix  = regexp.MustCompile(`\.[0-9a-f]{8,}$`)
)

func (n *namer) plain(name string) string {
	name = eventSuffix.ReplaceAllString(name, ".*")
	return memberSuffix.ReplaceAllStringFunc(name, func(suffix string) string {
		if n.numbers == nil {
			n.numbers = map[string]int{}
		}
		if n.numbers[suffix] == 0 {
			n.numbers[suffix] = len(n.numbers) + 1
		}
		return fmt.Sprintf("-%d", n.numbers[suffix])
	})
}
