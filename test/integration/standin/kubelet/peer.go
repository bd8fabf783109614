package kubelet

import (
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// peerFront is a proxy in front of the TLS peer port of a Pod's etcd. It forwards the bytes unchanged, from the calling Pod's
// address: etcd requires that a peer's certificate is for the address that it calls from, and on one machine every process calls
// from 127.0.0.1.
type peerFront struct {
	listener net.Listener
	behind   string
	caller   func(from, to net.Addr) string // the calling Pod's address; "" for other callers

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

const peerDialTimeout = 2 * time.Second

func servePeers(address, behind string, caller func(from, to net.Addr) string) (*peerFront, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	front := &peerFront{listener: listener, behind: behind, caller: caller, open: map[net.Conn]bool{}}
	go front.accept()
	return front, nil
}

func (f *peerFront) accept() {
	for {
		connection, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.hand(connection)
	}
}

// Close also ends the connections, because their etcd has ended.
func (f *peerFront) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for connection := range f.open {
		connection.Close()
	}
	return f.listener.Close()
}

// keep records a connection; false if the front is closed.
func (f *peerFront) keep(connection net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[connection] = true
	return !f.closed
}

func (f *peerFront) end(connection net.Conn) {
	connection.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, connection)
}

func (f *peerFront) hand(connection net.Conn) {
	defer f.end(connection)
	dialer := net.Dialer{Timeout: peerDialTimeout}
	if ip := f.caller(connection.RemoteAddr(), connection.LocalAddr()); ip != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(ip)}
	}
	onward, err := dialer.Dial("tcp", f.behind)
	if err != nil {
		return
	}
	defer f.end(onward)
	if !f.keep(connection) || !f.keep(onward) {
		return
	}
	ended := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // However it ends, the other direction ends with it.
		ended <- struct{}{}
	}
	go pass(onward, connection)
	go pass(connection, onward)
	<-ended
}

// caller returns the address of the Pod in this namespace whose process has the connection with these two ends; "" if none has.
func (r *run) caller(from, to net.Addr) string {
	socket := socketOf(from, to)
	if socket == "" {
		return ""
	}
	r.k.mu.Lock()
	processes := map[int]string{}
	for _, other := range r.k.runs {
		if pid := other.pid(); pid != 0 && other.meta.Namespace == r.meta.Namespace {
			processes[pid] = other.ip
		}
	}
	r.k.mu.Unlock()
	for pid, ip := range processes {
		if hasSocket(pid, socket) {
			return ip
		}
	}
	return ""
}

// socketOf finds the inode of the TCP socket at the end `from`. It asks the kernel for this socket: the table of all connections,
// in /proc, takes milliseconds.
func socketOf(from, to net.Addr) string {
	socket, err := netlink.SocketGet(from, to)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(uint64(socket.INode), 10)
}

func hasSocket(pid int, inode string) bool {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(folder) // the process may have ended
	for _, entry := range entries {
		if target, _ := os.Readlink(folder + "/" + entry.Name()); target == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
