package kubelet

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
)

const (
	firstNet = 77 // Pods live in 127.N.0.0/16; N is the first from here on that no other stand-in uses.
	lastNet  = 126
	dnsTTL   = 1
)

// Network gives Pods their addresses in 127.0.0.0/8 and answers for their names.
//
// The names come from a DNS server and not from /etc/hosts, because Go's resolver keeps that file for five seconds: a
// running etcd would learn late of each new peer.
type Network struct {
	prefix string
	lock   net.Listener // holds the prefix against other stand-ins

	mu    sync.Mutex
	taken int
	names map[string]net.IP // fully qualified, without the last dot
}

// NewNetwork finds a free network and starts its DNS server. It must run in a mount namespace of its own: everything
// started from there on asks this server only.
func NewNetwork(dir string) (*Network, error) {
	for n := firstNet; n <= lastNet; n++ {
		server := fmt.Sprintf("127.%d.255.254", n)
		lock, err := net.Listen("tcp", server+":53")
		if err != nil {
			continue
		}
		network := &Network{prefix: fmt.Sprintf("127.%d", n), lock: lock, names: map[string]net.IP{}}
		packets, err := net.ListenPacket("udp", server+":53")
		if err != nil {
			return nil, err
		}
		go network.serve(packets)
		return network, useResolver(dir, server)
	}
	return nil, fmt.Errorf("no network 127.%d.0.0/16 to 127.%d.0.0/16 is free", firstNet, lastNet)
}

func useResolver(dir, server string) error {
	file := dir + "/resolv.conf"
	text := "nameserver " + server + "\noptions ndots:1 timeout:2 attempts:2\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(file, "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s over /etc/resolv.conf: %w", file, err)
	}
	return nil
}

// take returns an address that no Pod had before.
func (n *Network) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken++
	return fmt.Sprintf("%s.%d.%d", n.prefix, n.taken/250%250, n.taken%250+1)
}

func (n *Network) setName(name, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = net.ParseIP(ip).To4()
}

// dropName takes the name away if it still means ip: a Pod that came back under the name may own it by now.
func (n *Network) dropName(name, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names[name].Equal(net.ParseIP(ip)) {
		delete(n.names, name)
	}
}

func (n *Network) lookup(name string) net.IP {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[strings.ToLower(strings.TrimSuffix(name, "."))]
}

func (n *Network) serve(packets net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		size, from, err := packets.ReadFrom(buffer)
		if err != nil {
			slog.Error("DNS", "error", err)
			return
		}
		if answer := reply(buffer[:size], n.lookup); answer != nil {
			packets.WriteTo(answer, from)
		}
	}
}

// reply answers one DNS query: the address of a known name, nothing for its other records, NXDOMAIN for the rest.
func reply(query []byte, lookup func(string) net.IP) []byte {
	const (
		header  = 12
		typeA   = 1
		classIN = 1
		noName  = 3
	)
	if len(query) < header || binary.BigEndian.Uint16(query[4:]) != 1 {
		return nil
	}
	var name strings.Builder
	at := header
	for at < len(query) && query[at] != 0 {
		size := int(query[at])
		if size > 63 || at+1+size > len(query) {
			return nil
		}
		name.Write(query[at+1 : at+1+size])
		name.WriteByte('.')
		at += 1 + size
	}
	at++ // the root label
	if at+4 > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[at:])
	answer := append([]byte(nil), query[:at+4]...)
	answer[2], answer[3] = 0x85, 0x80 // an authoritative answer; recursion was asked for and is there
	for i := 6; i < header; i++ {
		answer[i] = 0
	}
	ip := lookup(name.String())
	switch {
	case ip == nil:
		answer[3] |= noName
	case kind == typeA:
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, typeA, 0, classIN, 0, 0, 0, dnsTTL, 0, 4)
		answer = append(answer, ip...)
	}
	return answer
}
