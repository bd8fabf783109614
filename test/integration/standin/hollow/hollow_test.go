package hollow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"etcdop.test/standin/wire"
)

// grown is an etcd with a founder and a running learner.
func grown(t *testing.T, votes func()) (*etcd, *member, *member) {
	t.Helper()
	e := &etcd{id: 7}
	founder, isVoter, err := e.start("http://a:2380", "a", "3.6.16", nil)
	if err != nil || !isVoter {
		t.Fatal("the first member founds the cluster", isVoter, err)
	}
	var add wire.Message
	add.Text(1, "http://b:2380")
	add.Flag(2, true)
	asked, err := wire.Parse(add)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.call(founder, "/etcdserverpb.Cluster/MemberAdd", asked); err != nil {
		t.Fatal(err)
	}
	learner, isVoter, err := e.start("http://b:2380", "b", "3.6.16", votes)
	if err != nil || isVoter {
		t.Fatal("who was added starts as a learner", isVoter, err)
	}
	return e, founder, learner
}

func TestAnAddedLearnerVotesOncePromoted(t *testing.T) {
	promoted := make(chan struct{})
	e, founder, learner := grown(t, func() { close(promoted) })
	q := wire.Fields{Numbers: map[int]uint64{1: learner.id}}
	if _, err := e.call(founder, "/etcdserverpb.Cluster/MemberPromote", q); err != nil {
		t.Fatal(err)
	}
	<-promoted
	if learner.learner || e.leader != founder.id {
		t.Error("it is still a learner, or leads")
	}
	if _, err := e.call(founder, "/etcdserverpb.Cluster/MemberPromote", q); err == nil {
		t.Error("a voter was promoted")
	}
}

func TestACopyVotesAtOnce(t *testing.T) {
	e := &etcd{id: 7}
	for _, url := range []string{"http://a:2380", "http://b:2380", "http://b:2380"} {
		e.adopt(url)
	}
	first, votes, err := e.start("http://b:2380", "b", "3.6.16", nil)
	if err != nil || !votes || first.id != idOf("http://b:2380", "adopted") || len(e.members) != 2 {
		t.Error("it is no voter of a list of two", first, votes, err)
	}
}

func TestWhoWasNotAddedDoesNotStart(t *testing.T) {
	e, _, _ := grown(t, nil)
	if _, _, err := e.start("http://c:2380", "c", "3.6.16", nil); err == nil {
		t.Error("it started")
	}
}

func TestLeadershipLeavesAMemberThatStops(t *testing.T) {
	e, founder, learner := grown(t, func() {})
	q := wire.Fields{Numbers: map[int]uint64{1: learner.id}}
	if _, err := e.call(founder, "/etcdserverpb.Cluster/MemberPromote", q); err != nil {
		t.Fatal(err)
	}
	e.stop(founder)
	if e.leader != learner.id {
		t.Error("nobody leads")
	}
	if _, err := e.call(founder, "/etcdserverpb.Maintenance/Status", wire.Fields{}); err == nil {
		t.Error("a stopped member answers")
	}
}

// ask calls Status as a gRPC client does.
func ask(ip string, limit time.Duration) (string, error) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	url := fmt.Sprintf("http://%s:%d/etcdserverpb.Maintenance/Status", ip, clientPort)
	request, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(wire.Frame(nil)))
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		return "", err
	}
	return response.Trailer.Get("Grpc-Status"), nil
}

func TestAPlaceAnswersOrIsABlackHole(t *testing.T) {
	addresses, err := newPlaces()
	if err != nil {
		t.Fatal(err)
	}
	defer addresses.lock.Close()
	ip, err := addresses.take()
	if err != nil {
		t.Fatal(err)
	}
	e, founder, _ := grown(t, nil)
	counted := &calls{}
	counted.reset()
	at := &place{ip: ip, serve: handler(e, founder, counted)}
	defer at.behave(refuses)
	for _, how := range []string{answers, silent, drops, answers} {
		if err := at.behave(how); err != nil {
			t.Fatal(how, err)
		}
		limit := 300 * time.Millisecond
		if how == answers { // A busy machine may need longer.
			limit = 10 * time.Second
		}
		status, err := ask(ip, limit)
		if (how == answers) != (err == nil && status == "0") {
			t.Errorf("%s: status %q, %v", how, status, err)
		}
	}
	if counted.total["Status"] != 2 {
		t.Error("calls were counted", counted.total)
	}
	if err := at.behave(drops); err != nil {
		t.Fatal(err)
	}
	if connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", ip, clientPort), 300*time.Millisecond); err == nil {
		connection.Close()
		t.Error("a SYN was answered")
	}
}
