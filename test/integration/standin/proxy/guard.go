package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fate is what happens to a write, and to the operator that sent it.
type Fate string

// The fates. A killed operator gets SIGKILL.
const (
	Before    Fate = "before"     // killed before the server has seen the write
	After     Fate = "after"      // killed after it has the answer
	Lost      Fate = "lost"       // the server has answered; the answer is dropped and the operator killed
	LostAlive Fate = "lost-alive" // the server has answered; the connection is reset, the operator goes on
)

// Fates lists all of them.
var Fates = []Fate{Before, After, Lost, LostAlive}

// Trigger picks one write: by name and count, or, without a name, by its sequence number. Refused writes do not count: except for
// Before, which cannot know the answer, the trigger waits for the accepted one.
type Trigger struct {
	Name string `json:"name,omitempty"` // Write.Name
	Seq  int    `json:"seq,omitempty"`
	Fate Fate   `json:"fate"`
}

func (t *Trigger) picks(write *Write) bool {
	if t.Name != "" {
		return t.Name == write.Name()
	}
	return t.Seq == write.Seq
}

// Rule is a fault for all matching requests, until it is removed or used up. A stall holds back all parts of answers, also of
// answers that have begun, such as watches; after it they go on where they stopped.
type Rule struct {
	ID         int           `json:"id"`
	Side       Side          `json:"side,omitempty"`   // empty: both
	Method     string        `json:"method,omitempty"` // a regular expression, as path and query; empty: all
	Path       string        `json:"path,omitempty"`
	Query      string        `json:"query,omitempty"`
	Action     string        `json:"action"` // status, reset, hang, lost, delay (then forwarded), or stall
	Code       int           `json:"code,omitempty"`
	Message    string        `json:"message,omitempty"`
	RetryAfter int           `json:"retryAfter,omitempty"` // seconds
	Delay      time.Duration `json:"delay,omitempty"`      // nanoseconds
	Times      int           `json:"times,omitempty"`      // how many requests; 0: no limit, as always for a stall

	method, path, query *regexp.Regexp
	lifted              chan struct{}
}

// Guard is passed by all requests of one operator instance.
type Guard struct {
	// Kill kills the operator and returns when it is dead. Nil: no operator.
	Kill func()

	mu      sync.Mutex
	writes  []Write
	seq     int            // accepted writes of the phase, and those in flight
	counts  map[string]int // the same by verb and target
	names   namer
	phase   string
	last    time.Time // when the last write arrived or was answered
	open    int       // writes without an answer yet
	begun   int       // phases so far
	armed   *Trigger
	fired   chan struct{}
	dying   bool
	conns   map[net.Conn]bool
	answers map[*stallable]bool // begun and not ended
	rules   []*Rule
	ruleID  int
	reads   int
}

// NewGuard makes a guard that lets everything pass and records it.
func NewGuard() *Guard {
	return &Guard{counts: map[string]int{}, conns: map[net.Conn]bool{}, answers: map[*stallable]bool{}, fired: make(chan struct{})}
}

// Begin starts a phase: the count of writes starts again, and the trigger, if any, waits for its write.
func (g *Guard) Begin(phase string, trigger *Trigger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase, g.armed = phase, trigger
	g.seq, g.counts, g.writes, g.names = 0, map[string]int{}, nil, namer{}
	g.begun++
	g.fired = make(chan struct{})
}

// Fired is closed when the trigger has met its write.
func (g *Guard) Fired() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fired
}

// Writes returns the writes of this phase so far.
func (g *Guard) Writes() []Write {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Write{}, g.writes...)
}

// Requests returns the number of all requests, writes and reads.
func (g *Guard) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reads + len(g.writes)
}

// Quiet returns the time since the last write.
func (g *Guard) Quiet() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open > 0 {
		return 0
	}
	return time.Since(g.last)
}

// AddRule starts a fault.
func (g *Guard) AddRule(rule Rule) (int, error) {
	var err error
	if rule.method, err = regexp.Compile("^(" + rule.Method + ")$"); err != nil {
		return 0, err
	}
	if rule.path, err = regexp.Compile(rule.Path); err != nil {
		return 0, err
	}
	if rule.query, err = regexp.Compile(rule.Query); err != nil {
		return 0, err
	}
	switch rule.Action {
	case "status", "reset", "hang", "lost", "delay", "stall":
	default:
		return 0, fmt.Errorf("action %q is none of status, reset, hang, lost, delay, stall", rule.Action)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ruleID++
	rule.ID, rule.lifted = g.ruleID, make(chan struct{})
	g.rules = append(g.rules, &rule)
	return rule.ID, nil
}

// DropRule ends a fault; requests that it hangs are reset, stalled ones go on.
func (g *Guard) DropRule(id int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, rule := range g.rules {
		if rule.ID == id {
			close(rule.lifted)
			g.rules = append(g.rules[:i], g.rules[i+1:]...)
			return true
		}
	}
	return false
}

func (r *Rule) matches(side Side, request *http.Request) bool {
	return (r.Side == "" || r.Side == side) &&
		(r.Method == "" || r.method.MatchString(request.Method)) && r.path.MatchString(request.URL.Path) &&
		r.query.MatchString(request.URL.RawQuery)
}

// rule returns the rule that applies to a request before it is forwarded, or nil.
func (g *Guard) rule(side Side, request *http.Request) *Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, rule := range g.rules {
		if rule.Action == "stall" || !rule.matches(side, request) || rule.Times < 0 {
			continue
		}
		if rule.Times == 1 {
			rule.Times = -1 // used up after this
		} else if rule.Times > 1 {
			rule.Times--
		}
		return rule
	}
	return nil
}

// stall returns the rule that holds back the answer to a request now, or nil.
func (g *Guard) stall(side Side, request *http.Request) *Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, rule := range g.rules {
		if rule.Action == "stall" && rule.matches(side, request) {
			return rule
		}
	}
	return nil
}

// Watching tells whether a watch is open on a path with this suffix.
func (g *Guard) Watching(path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for answer := range g.answers {
		if url := answer.request.URL; url.Query().Has("watch") && strings.HasSuffix(url.Path, path) {
			return true
		}
	}
	return false
}

// admit numbers a write; false if it comes from an operator that is being killed.
func (g *Guard) admit(write *Write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = time.Now()
	if g.dying {
		return false
	}
	write.At, write.Phase, write.Code = g.last, g.phase, -1
	g.seq++
	g.counts[write.Kind()]++
	write.Seq, write.Nth = g.seq, g.counts[write.Kind()]
	write.begun, write.index = g.begun, len(g.writes)
	if g.armed != nil && g.armed.Fate == Before && g.armed.picks(write) {
		g.fire(write)
	}
	g.writes = append(g.writes, *write)
	g.open++
	return true
}

// waitsFor tells whether the trigger waits for the answer to this write.
func (g *Guard) waitsFor(write *Write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.armed != nil && write.Fate == "" && g.armed.picks(write)
}

func (g *Guard) fire(write *Write) {
	write.Fate = g.armed.Fate
	g.dying = write.Fate != LostAlive && g.Kill != nil
	g.armed = nil
	close(g.fired)
}

// answered records the server's answer and, if the trigger waited for it, decides the write's fate.
func (g *Guard) answered(write *Write, waited bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.last = time.Now()
	if write.begun != g.begun {
		return
	}
	if write.Refused() {
		g.seq--
		g.counts[write.Kind()]--
	} else if waited && g.armed != nil && g.armed.picks(write) && !g.dying {
		g.fire(write)
	}
	g.writes[write.index] = *write
}

// kill kills the operator, and its connections with it, so that nothing that it sent is read after its death.
func (g *Guard) kill() {
	if g.Kill == nil {
		return
	}
	g.mu.Lock()
	connections := slices.Collect(maps.Keys(g.conns)) // not those of the next process
	g.mu.Unlock()
	g.Kill()
	for _, connection := range connections {
		reset(connection)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dying = false
}

// track records the connections that kill must end.
func (g *Guard) track(connection net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.conns[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(g.conns, connection)
	}
}

type connectionKey struct{}

func remember(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// reset closes a connection so that the other end gets an error and not EOF.
func reset(connection net.Conn) {
	inner := connection
	if wrapped, ok := inner.(interface{ NetConn() net.Conn }); ok {
		inner = wrapped.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = inner.Close()
}

// drop ends a request without an answer, and its connection.
func drop(request *http.Request) {
	if connection, ok := request.Context().Value(connectionKey{}).(net.Conn); ok {
		reset(connection)
	}
	panic(http.ErrAbortHandler)
}

// handoff is the time in which the operator reads an answer before it is killed.
const handoff = 5 * time.Millisecond

// serve processes one request and its fate. write is nil for a request that only reads.
func (g *Guard) serve(side Side, w http.ResponseWriter, request *http.Request, write *Write, forward http.Handler) {
	if write == nil {
		g.mu.Lock()
		g.reads++
		g.mu.Unlock()
		g.pass(side, w, request, forward)
		return
	}
	if !g.admit(write) {
		drop(request)
	}
	if write.Fate == Before {
		defer g.answered(write, false)
		g.kill()
		drop(request)
	}
	if !g.waitsFor(write) {
		answer := &watched{ResponseWriter: w}
		defer func() {
			write.Code = answerCode(side, answer.code, w.Header())
			g.answered(write, false)
		}()
		g.pass(side, answer, request, forward)
		return
	}
	answer := g.held(side, request, write, forward)
	switch write.Fate {
	case Lost:
		defer g.kill()
		drop(request)
	case LostAlive:
		drop(request)
	case After:
		defer func() { time.AfterFunc(handoff, g.kill) }()
	}
	answer.send(w)
}

// held forwards a write, holds its answer back, and decides on its fate. The server finishes the write even if no caller is left.
func (g *Guard) held(side Side, request *http.Request, write *Write, forward http.Handler) *held {
	answer := &held{header: http.Header{}, code: http.StatusOK}
	defer func() {
		if answer.whole {
			write.Code = answerCode(side, answer.code, answer.header)
		}
		g.answered(write, true)
	}()
	g.pass(side, answer, request.WithContext(context.WithoutCancel(request.Context())), forward)
	answer.whole = true
	return answer
}

// pass forwards a request, unless a rule applies.
func (g *Guard) pass(side Side, to http.ResponseWriter, request *http.Request, forward http.Handler) {
	w := &stallable{ResponseWriter: to, guard: g, side: side, request: request}
	defer w.end()
	rule := g.rule(side, request)
	if rule == nil {
		forward.ServeHTTP(w, request)
		return
	}
	switch rule.Action {
	case "status":
		refuse(side, w, rule)
	case "lost":
		forward.ServeHTTP(&held{header: http.Header{}}, request)
		drop(request)
	case "hang":
		select {
		case <-request.Context().Done():
		case <-rule.lifted:
		}
		drop(request)
	case "delay":
		select {
		case <-request.Context().Done():
			drop(request)
		case <-time.After(rule.Delay):
		}
		forward.ServeHTTP(w, request)
	default:
		drop(request)
	}
}

func refuse(side Side, w http.ResponseWriter, rule *Rule) {
	if side == Etcd {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", strconv.Itoa(rule.Code))
		w.Header().Set("Grpc-Message", rule.Message)
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if rule.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(rule.RetryAfter))
	}
	w.WriteHeader(rule.Code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": rule.Message, "code": rule.Code,
	})
}

func answerCode(side Side, code int, header http.Header) int {
	if side == API {
		return code
	}
	for _, key := range []string{"Grpc-Status", http.TrailerPrefix + "Grpc-Status"} {
		if grpc, err := strconv.Atoi(header.Get(key)); err == nil {
			return grpc
		}
	}
	return -1
}

// watched records the code of an answer that passes through.
type watched struct {
	http.ResponseWriter
	code int
}

func (w *watched) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the flushable writer to http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// stallable is an answer that a rule can hold back at any time.
type stallable struct {
	http.ResponseWriter
	guard   *Guard
	side    Side
	request *http.Request
}

func (s *stallable) WriteHeader(code int) {
	if s.wait() != nil {
		return
	}
	s.ResponseWriter.WriteHeader(code)
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	s.guard.answers[s] = true
}

func (s *stallable) Write(content []byte) (int, error) {
	if err := s.wait(); err != nil {
		return 0, err
	}
	return s.ResponseWriter.Write(content)
}

// Unwrap returns the flushable writer to http.ResponseController.
func (s *stallable) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// wait returns when no rule stalls the answer, or, with an error, when the caller is gone.
func (s *stallable) wait() error {
	for rule := s.guard.stall(s.side, s.request); rule != nil; rule = s.guard.stall(s.side, s.request) {
		select {
		case <-s.request.Context().Done():
			return s.request.Context().Err()
		case <-rule.lifted:
		}
	}
	return nil
}

func (s *stallable) end() {
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	delete(s.guard.answers, s)
}

// held is an answer that may or may not be sent.
type held struct {
	header http.Header
	code   int
	body   bytes.Buffer
	whole  bool
}

func (h *held) Header() http.Header               { return h.header }
func (h *held) Write(content []byte) (int, error) { return h.body.Write(content) }
func (h *held) WriteHeader(code int)              { h.code = code }
func (h *held) Flush()                            {}

func (h *held) send(w http.ResponseWriter) {
	for key, values := range h.header {
		if !strings.HasPrefix(key, http.TrailerPrefix) {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(h.code)
	_, _ = w.Write(h.body.Bytes()) // an error here helps no caller
	if h.body.Len() > 0 {
		_ = http.NewResponseController(w).Flush() // trailers follow a body
	}
	for key, values := range h.header {
		if strings.HasPrefix(key, http.TrailerPrefix) {
			w.Header()[key] = values
		}
	}
}

// readBody reads a request's body and puts it back.
func readBody(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}
