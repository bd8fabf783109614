package hollow

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"etcdop.test/standin/wire"
)

// Every hollow member reports this, always: nothing is written to it.
const (
	raftTerm  = 2
	raftIndex = 1000
	dbSize    = 25 << 10
)

// gRPC's codes.
const (
	invalidArgument = 3
	notFound        = 5
	failed          = 9
	unimplemented   = 12
	unavailable     = 14
)

type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.code, r.text) }

// member is an entry of an etcd's list.
type member struct {
	id            uint64
	name, peerURL string
	clientURL     string
	version       string
	learner       bool
	running       bool
	votes         func() // called once, when it is promoted
}

// etcd is the membership of one cluster. It models only what a cluster needs to grow to its size and to rest.
type etcd struct {
	mu      sync.Mutex
	id      uint64
	leader  uint64
	members []*member
}

func idOf(parts ...string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(strings.Join(parts, "/")))
	return hash.Sum64() | 1
}

// adopt puts a voter into the list, as if it had been added and promoted long ago.
func (e *etcd) adopt(peerURL string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.ContainsFunc(e.members, func(m *member) bool { return m.peerURL == peerURL }) {
		e.members = append(e.members, &member{id: idOf(peerURL, "adopted"), peerURL: peerURL})
	}
}

// start runs the member with that peer URL: an added one, one that comes back, or, in an etcd without members, the founder. votes
// is called when it is promoted; the bool result says whether it votes already.
func (e *etcd) start(peerURL, name, version string, votes func()) (*member, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.members, func(m *member) bool { return m.peerURL == peerURL })
	if i < 0 && len(e.members) > 0 {
		return nil, false, fmt.Errorf("%s is not in the list of members", peerURL)
	}
	if i < 0 {
		i = 0
		e.members = append(e.members, &member{id: idOf(peerURL, "founder"), peerURL: peerURL})
	}
	m := e.members[i]
	m.name, m.version, m.running, m.votes = name, version, true, votes
	m.clientURL = strings.TrimSuffix(peerURL, ":2380") + ":2379"
	e.elect()
	return m, !m.learner, nil
}

func (e *etcd) stop(m *member) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m.running = false
	e.elect()
}

// elect keeps the leader while it runs. It needs no quorum: hollow members do not fail by themselves.
func (e *etcd) elect() {
	for _, m := range e.members {
		if m.id == e.leader && m.running {
			return
		}
	}
	e.leader = 0
	for _, m := range e.members {
		if m.running && !m.learner {
			e.leader = m.id
			return
		}
	}
}

// call answers one call to the member me.
func (e *etcd) call(me *member, method string, q wire.Fields) (wire.Message, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !me.running {
		return nil, &refusal{unavailable, "etcdserver: server stopped"}
	}
	switch method {
	case "/etcdserverpb.Maintenance/Status":
		return e.status(me), nil
	case "/etcdserverpb.Cluster/MemberList":
		return e.list(me), nil
	case "/etcdserverpb.Cluster/MemberAdd":
		return e.add(me, q.Text(1), q.Numbers[2] != 0)
	case "/etcdserverpb.Cluster/MemberPromote":
		return e.promote(me, q.Numbers[1])
	case "/etcdserverpb.Maintenance/MoveLeader":
		e.leader = q.Numbers[1]
		return nil, nil
	case "/etcdserverpb.Maintenance/Alarm":
		var out wire.Message
		out.Nested(1, e.header(me))
		return out, nil
	}
	return nil, &refusal{unimplemented, "a hollow member does not know " + method}
}

func (e *etcd) header(me *member) (out wire.Message) {
	out.Number(1, e.id)
	out.Number(2, me.id)
	out.Number(3, 1)
	out.Number(4, raftTerm)
	return out
}

func (e *etcd) status(me *member) (out wire.Message) {
	out.Nested(1, e.header(me))
	out.Text(2, me.version)
	out.Number(3, dbSize)
	out.Number(4, e.leader)
	out.Number(5, raftIndex)
	out.Number(6, raftTerm)
	out.Number(7, raftIndex)
	out.Number(9, dbSize)
	out.Flag(10, me.learner)
	return out
}

func (m *member) encode() (out wire.Message) {
	out.Number(1, m.id)
	out.Text(2, m.name)
	out.Text(3, m.peerURL)
	out.Text(4, m.clientURL)
	out.Flag(5, m.learner)
	return out
}

func (e *etcd) list(me *member) (out wire.Message) {
	out.Nested(1, e.header(me))
	for _, m := range e.members {
		out.Nested(2, m.encode())
	}
	return out
}

func (e *etcd) add(me *member, peerURL string, learner bool) (out wire.Message, err error) {
	if slices.ContainsFunc(e.members, func(m *member) bool { return m.peerURL == peerURL }) {
		return nil, &refusal{failed, "etcdserver: Peer URLs already exists"}
	}
	if !learner || peerURL == "" {
		return nil, &refusal{invalidArgument, "a hollow etcd takes learners only"}
	}
	added := &member{id: idOf(peerURL, "joined"), peerURL: peerURL, learner: true}
	e.members = append(e.members, added)
	out.Nested(1, e.header(me))
	out.Nested(2, added.encode())
	for _, m := range e.members {
		out.Nested(3, m.encode())
	}
	return out, nil
}

func (e *etcd) promote(me *member, id uint64) (wire.Message, error) {
	i := slices.IndexFunc(e.members, func(m *member) bool { return m.id == id })
	switch {
	case i < 0:
		return nil, &refusal{notFound, "etcdserver: member not found"}
	case !e.members[i].learner:
		return nil, &refusal{failed, "etcdserver: can only promote a learner member"}
	case !e.members[i].running:
		return nil, &refusal{failed, "etcdserver: can only promote a learner member which is in sync with leader"}
	}
	e.members[i].learner = false
	go e.members[i].votes()
	return e.list(me), nil
}

// calls counts the calls that hollow members got.
type calls struct {
	mu     sync.Mutex
	since  time.Time
	total  map[string]int
	listed map[*etcd]bool // clusters whose list was asked for since then
	// When the first and the latest cluster was asked for the first time.
	First, Latest time.Time
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.total, c.listed = time.Now(), map[string]int{}, map[*etcd]bool{}
	c.First, c.Latest = time.Time{}, time.Time{}
}

func (c *calls) count(e *etcd, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := method[strings.LastIndexByte(method, '/')+1:]
	c.total[name]++
	if name != "MemberList" || c.listed[e] {
		return
	}
	c.listed[e] = true
	c.Latest = time.Now()
	if c.First.IsZero() {
		c.First = c.Latest
	}
}

// handler serves gRPC for one member over HTTP/2 without TLS.
func handler(e *etcd, me *member, counted *calls) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		counted.count(e, r.URL.Path)
		bytes, err := wire.ReadFrame(r.Body)
		var asked wire.Fields
		if err == nil {
			asked, err = wire.Parse(bytes)
		}
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := e.call(me, r.URL.Path, asked)
		rw.Header().Set("Content-Type", "application/grpc")
		code, text := 0, ""
		if refused, ok := err.(*refusal); ok {
			code, text = refused.code, refused.text
		} else {
			_, _ = rw.Write(wire.Frame(answer)) // the caller may be gone
		}
		rw.Header().Set(http.TrailerPrefix+"Grpc-Status", fmt.Sprint(code))
		if text != "" {
			rw.Header().Set(http.TrailerPrefix+"Grpc-Message", text)
		}
	})
}
