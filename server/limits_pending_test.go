package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// The onDisconnect operations of all connections have a common bound. One address leaves
// as much room as it has; what there is no room for is refused with a text that says so;
// and a connection that ends makes room.
func TestDisconnectMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		tn := townOf(t, Options{Dev: true, Limits: Limits{MaxPendingBytes: most}})
		defer tn.shutdown()
		leave := func(path string, size int) string {
			return fmt.Sprintf(`{"p":%q,"d":%q}`, path, strings.Repeat("x", size))
		}
		refused := func(c *wsClient, body, text string) {
			t.Helper()
			r := c.request("o", body)
			c.want(fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"too_big","d":%q}}}`, r, text))
		}
		greedy := tn.network(t, "198.51.100.1").connect("")
		greedy.do("o", leave("/a", most*2/5))
		again := tn.network(t, "198.51.100.1").connect("")
		refused(again, leave("/b", most/5), "too many listens or pending operations from this address")
		other := tn.network(t, "198.51.100.2").connect("")
		other.do("o", leave("/c", most/4))
		exempt := tn.network(t, "127.0.0.1").connect("")
		exempt.do("o", leave("/d", most/4))
		refused(exempt, leave("/e", most/5), "the server has no room for more onDisconnect operations now; try again later")
		tn.wantRefused(t, metrics.AddressDisconnects, 1)
		tn.wantRefused(t, metrics.Disconnects, 1)

		greedy.ws.Close()
		synctest.Wait()
		exempt.do("o", leave("/e", most/5))
		for _, c := range []*wsClient{again, other, exempt} {
			c.ws.Close()
		}
		synctest.Wait()
		if held := tn.source().PendingBytes; held != 0 {
			t.Errorf("%d bytes are counted, and nobody is connected", held)
		}
	})
}
