package hollow

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
)

const (
	firstNet, lastNet = 40, 76 // 127.N.0.0/16; the stand-in with real etcds has those from 77 on.
	perNet            = 250 * 250
	clientPort        = 2379
	fillersMax        = 8
)

// places gives members addresses that no member had before.
type places struct {
	net  int
	lock net.Listener // holds the network against other worlds

	mu    sync.Mutex
	taken int
}

func newPlaces() (*places, error) {
	for n := firstNet; n <= lastNet; n++ {
		if lock, err := net.Listen("tcp", fmt.Sprintf("127.%d.255.254:%d", n, clientPort)); err == nil {
			return &places{net: n, lock: lock}, nil
		}
	}
	return nil, fmt.Errorf("no network 127.%d.0.0/16 to 127.%d.0.0/16 is free", firstNet, lastNet)
}

func (p *places) take() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken++; p.taken >= perNet {
		return "", fmt.Errorf("all addresses of 127.%d.0.0/16 were used", p.net)
	}
	return fmt.Sprintf("127.%d.%d.%d", p.net, p.taken/250, p.taken%250+1), nil
}

// place is a member's address: a server, or a kind of black hole.
type place struct {
	ip    string
	serve http.Handler

	mu   sync.Mutex
	ends func()
}

// How a place can behave.
const (
	answers = "answers"
	silent  = "silent"  // it accepts connections and never answers
	drops   = "drops"   // it drops SYNs
	refuses = "refuses" // no process listens
)

// behave ends the present behaviour, with its connections, and starts the new one.
func (p *place) behave(how string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends != nil {
		p.ends()
		p.ends = nil
	}
	if how == refuses {
		return nil
	}
	if how == drops {
		ends, err := dropSYNs(p.ip)
		p.ends = ends
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", p.ip, clientPort))
	if err != nil {
		return err
	}
	if how == silent {
		p.ends = holdSilently(listener)
		return nil
	}
	server := &http.Server{Handler: p.serve, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(listener)
	p.ends = func() { server.Close() }
	return nil
}

func holdSilently(listener net.Listener) func() {
	var held []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, connection)
		}
	}()
	return func() {
		listener.Close()
		<-done
		for _, connection := range held {
			connection.Close()
		}
	}
}

// dropSYNs listens and never accepts; once its queue is full (our own connections fill it), Linux drops further SYNs.
func dropSYNs(ip string) (func(), error) {
	var address syscall.SockaddrInet4
	copy(address.Addr[:], net.ParseIP(ip).To4())
	address.Port = clientPort
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	sockets := []int{listener}
	ends := func() {
		for _, socket := range sockets {
			syscall.Close(socket)
		}
	}
	err = syscall.SetsockoptInt(listener, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(listener, &address)
	}
	if err == nil {
		err = syscall.Listen(listener, 0)
	}
	for i := 0; err == nil && i < fillersMax; i++ {
		var filler int
		filler, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
		if err == nil {
			sockets = append(sockets, filler)
			_ = syscall.Connect(filler, &address) // The first succeeds; the others wait for ever, because the queue is full.
		}
	}
	if err != nil {
		ends()
		return nil, err
	}
	return ends, nil
}
