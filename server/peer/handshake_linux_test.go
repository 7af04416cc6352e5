package peer

import (
	"crypto/tls"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConnectionBeneathTLS: the connection of TCP is found through TLS. Then what is not sent is
// bounded, and progress is what the client has acknowledged.
func TestConnectionBeneathTLS(t *testing.T) {
	table := tableTest(10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cs := NewConns(table)
	c, err := cs.Listen(l, &tls.Config{}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cs.Begin(t.Context(), c)
	defer cs.End(c, true)
	tcp := tcpOf(c)
	if tcp == nil {
		t.Fatal("the connection is not found")
	}
	unsent := 0
	err = withDescriptor(tcp, func(fd int) (err error) {
		unsent, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
		return err
	})
	if err != nil || unsent != maxUnsent {
		t.Errorf("the bound of what is not sent is %d, %v; want %d", unsent, err, maxUnsent)
	}
	bare, err := Bare(c)
	if err != nil {
		t.Fatal(err)
	}
	if u := table.WriteDeadline(bare, bare.SetWriteDeadline); u.tcp != tcp {
		t.Error("the deadline of writing does not know what the client has acknowledged")
	}
}
