package kubelet

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// echo sends each caller its address, and then echoes its input.
func echo(t *testing.T) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				io.WriteString(connection, connection.RemoteAddr().String()+"\n")
				io.Copy(connection, connection)
			}()
		}
	}()
	return listener
}

func TestAPeersCallComesFromItsPodsAddress(t *testing.T) {
	listener := echo(t)
	for said, want := range map[string]string{"127.5.6.7": "127.5.6.7:", "": "127.0.0.1:"} {
		front, err := servePeers("127.0.0.1:0", listener.Addr().String(),
			func(from, to net.Addr) string { return said })
		if err != nil {
			t.Fatal(err)
		}
		caller, err := net.Dial("tcp", front.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 64)
		size, _ := caller.Read(buffer)
		if !strings.HasPrefix(string(buffer[:size]), want) {
			t.Errorf("the call of %q came from %s", said, buffer[:size])
		}
		io.WriteString(caller, "hello")
		if size, _ = caller.Read(buffer); string(buffer[:size]) != "hello" {
			t.Errorf("the answer was %q", buffer[:size])
		}
		front.Close()
		if _, err := caller.Read(buffer); err == nil {
			t.Error("the connection outlived the front")
		}
		caller.Close()
	}
}

func TestAConnectionIsKnownByTheProcessThatHasIt(t *testing.T) {
	caller, err := net.Dial("tcp", echo(t).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	socket := socketOf(caller.LocalAddr(), caller.RemoteAddr())
	if socket == "" || !hasSocket(os.Getpid(), socket) || hasSocket(os.Getppid(), socket) {
		t.Errorf("socket %q: ours %v, our parent's %v",
			socket, hasSocket(os.Getpid(), socket), hasSocket(os.Getppid(), socket))
	}
	nobody := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	if other := socketOf(caller.RemoteAddr(), nobody); other != "" {
		t.Errorf("a connection that there is not: %q", other)
	}
}
