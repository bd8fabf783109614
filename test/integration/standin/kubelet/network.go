package kubelet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

const (
	firstNet = 77 // Pods live in 127.N.0.0/16; N is the first from here on that no other stand-in uses.
	lastNet  = 126
	dnsTTL   = 1
)

// Reverse is how the DNS server answers reverse look-ups.
type Reverse string

// The answers. Clusters differ: their DNS may have no reverse zone, refuse it, or ask a resolver that never answers.
const (
	Named   Reverse = "named"   // as CoreDNS: the Pod's name under its headless Service
	Unknown Reverse = "unknown" // no such name
	Refused Reverse = "refused"
	Silent  Reverse = "silent"
)

// Network gives Pods addresses in 127.0.0.0/8, and answers look-ups of their names, of their headless Services' names, and of their
// addresses.
//
// The names come from a DNS server and not from /etc/hosts, because Go's resolver caches that file for five seconds: a running etcd
// would learn late of each new peer.
type Network struct {
	prefix string
	lock   net.Listener // holds the prefix against other stand-ins

	mu      sync.Mutex
	taken   int
	names   map[string]net.IP  // of Pods, as in kube.Pod.DNSName
	reverse map[string]Reverse // by namespace; default Named
}

// NewNetwork finds a free network and starts its DNS server. It must run in its own mount namespace: every process started there
// asks only this server.
func NewNetwork(dir string) (*Network, error) {
	for n := firstNet; n <= lastNet; n++ {
		server := fmt.Sprintf("127.%d.255.254", n)
		lock, err := net.Listen("tcp", server+":53")
		if err != nil {
			continue
		}
		network := newNetwork()
		network.prefix, network.lock = fmt.Sprintf("127.%d", n), lock
		packets, err := net.ListenPacket("udp", server+":53")
		if err != nil {
			return nil, err
		}
		go network.serve(packets)
		return network, useResolver(dir, server)
	}
	return nil, fmt.Errorf("no network 127.%d.0.0/16 to 127.%d.0.0/16 is free", firstNet, lastNet)
}

func newNetwork() *Network {
	return &Network{names: map[string]net.IP{}, reverse: map[string]Reverse{}}
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

// dropName removes the name if it still means ip: a new Pod with that name may own it by now.
func (n *Network) dropName(name, ip string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names[name].Equal(net.ParseIP(ip)) {
		delete(n.names, name)
	}
}

// SetReverse sets how reverse look-ups of the addresses of a namespace's Pods are answered.
func (n *Network) SetReverse(namespace string, reverse Reverse) error {
	switch reverse {
	case Named, Unknown, Refused, Silent:
	default:
		return fmt.Errorf("%q is none of named, unknown, refused, silent", reverse)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reverse[namespace] = reverse
	return nil
}

// The DNS server's record types and codes.
const (
	typeA    = 1
	typePTR  = 12
	noName   = 3
	refusing = 5
	// clusterDomain is the suffix that a search path adds to a name; the names work without it, too.
	clusterDomain = ".cluster.local"
	reverseZone   = ".in-addr.arpa"
)

// found is the DNS server's answer to one question.
type found struct {
	silent bool
	code   byte
	data   [][]byte // the records of the requested type
}

// answer looks up a name without a trailing dot.
func (n *Network) answer(name string, kind uint16) found {
	n.mu.Lock()
	defer n.mu.Unlock()
	name = strings.ToLower(name)
	if address, isReverse := strings.CutSuffix(name, reverseZone); isReverse {
		return n.nameOf(address, kind)
	}
	name = strings.TrimSuffix(name, clusterDomain)
	addresses := n.addresses(name)
	if len(addresses) == 0 {
		return found{code: noName}
	}
	if kind != typeA {
		return found{}
	}
	return found{data: addresses}
}

// addresses returns those of a Pod, or of all Pods of a headless Service.
func (n *Network) addresses(name string) [][]byte {
	var list [][]byte
	for pod, ip := range n.names {
		_, service, _ := strings.Cut(pod, ".")
		if name == pod || name == service {
			list = append(list, ip)
		}
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}

// nameOf answers a reverse look-up; the address has its bytes in reverse order.
func (n *Network) nameOf(address string, kind uint16) found {
	parts := strings.Split(address, ".")
	slices.Reverse(parts)
	ip := net.ParseIP(strings.Join(parts, "."))
	for pod, its := range n.names {
		if !its.Equal(ip) {
			continue
		}
		switch n.reverse[namespaceOf(pod)] {
		case Unknown:
			return found{code: noName}
		case Refused:
			return found{code: refusing}
		case Silent:
			return found{silent: true}
		}
		if kind != typePTR {
			return found{}
		}
		return found{data: [][]byte{wireName(pod + clusterDomain)}}
	}
	return found{code: noName}
}

// namespaceOf extracts the namespace from <pod>.<service>.<namespace>.svc.
func namespaceOf(pod string) string {
	parts := strings.Split(pod, ".")
	return parts[len(parts)-2]
}

func wireName(name string) []byte {
	var wire []byte
	for label := range strings.SplitSeq(name, ".") {
		wire = append(append(wire, byte(len(label))), label...)
	}
	return append(wire, 0)
}

func (n *Network) serve(packets net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		size, from, err := packets.ReadFrom(buffer)
		if err != nil {
			slog.Error("DNS", "error", err)
			return
		}
		if answer := reply(buffer[:size], n.answer); answer != nil {
			packets.WriteTo(answer, from)
		}
	}
}

// reply answers one DNS query; nil: no answer.
func reply(query []byte, ask func(name string, kind uint16) found) []byte {
	const (
		header  = 12
		classIN = 1
	)
	if len(query) < header || binary.BigEndian.Uint16(query[4:]) != 1 {
		return nil
	}
	var labels []string
	at := header
	for at < len(query) && query[at] != 0 {
		size := int(query[at])
		if size > 63 || at+1+size > len(query) {
			return nil
		}
		labels = append(labels, string(query[at+1:at+1+size]))
		at += 1 + size
	}
	at++ // the root label
	if at+4 > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[at:])
	said := ask(strings.Join(labels, "."), kind)
	if said.silent {
		return nil
	}
	answer := append([]byte(nil), query[:at+4]...)
	// An authoritative answer; recursion was requested and is available.
	answer[2], answer[3] = 0x85, 0x80|said.code
	for i := 6; i < header; i++ {
		answer[i] = 0
	}
	answer[7] = byte(len(said.data))
	for _, data := range said.data {
		answer = append(answer, 0xc0, header, 0, byte(kind), 0, classIN, 0, 0, 0, dnsTTL)
		answer = binary.BigEndian.AppendUint16(answer, uint16(len(data)))
		answer = append(answer, data...)
	}
	return answer
}
