package server

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// gateDoors are ways to ask, each with what it is answered when it is allowed.
var gateDoors = []struct {
	name string
	call call
	ok   int

	reads bool // as a client that is not signed in, which foreign pages may do
}{
	{"read", call{method: "GET", target: "/a.json?ns=here"}, 200, true},
	{"jsonp", call{method: "GET", target: "/a.json?ns=here&callback=f"}, 200, true},
	{"read of everything", call{method: "GET", target: "/.json?ns=here"}, 200, true},
	{"read as owner by address", call{method: "GET", target: "/a.json?ns=here&access_token=owner"}, 200, false},
	{"read with a bad token", call{method: "GET", target: "/a.json?ns=here&auth=x"}, 401, false},
	{"read of a setting", call{method: "GET", target: "/.settings/rules.json?ns=here"}, 401, false},
	{"put", call{method: "PUT", target: "/a.json?ns=here", body: "2"}, 200, false},
	{"patch", call{method: "PATCH", target: "/.json?ns=here", body: `{"a":2}`}, 200, false},
	{"form", call{method: "POST", target: "/a.json?ns=here", header: http.Header{"Content-Type": {"text/plain"}}, body: "2"}, 200, false},
	{"method override", call{method: "POST", target: "/a.json?ns=here&x-http-method-override=PUT", body: "2"}, 200, false},
	{"delete", call{method: "DELETE", target: "/a.json?ns=here"}, 200, false},
	{"head", call{method: "HEAD", target: "/a.json?ns=here"}, 200, true},
	{"preflight", call{method: "OPTIONS", target: "/a.json?ns=here", header: http.Header{"Access-Control-Request-Method": {"PUT"}}}, 200, true},
	{"owner", call{method: "GET", target: "/a.json?ns=here", header: http.Header{"Authorization": {"Bearer owner"}}}, 200, false},
	{"backup", call{method: "GET", target: "/.settings/backup?ns=here", header: http.Header{"Authorization": {"Bearer owner"}}}, 200, false},
	{"backup by address", call{method: "GET", target: "/.settings/backup?ns=here&access_token=owner"}, 200, false},
	{"rules", call{method: "PUT", target: "/.settings/rules.json?ns=here&access_token=owner", body: `{"rules":{".read":true,".write":true}}`}, 200, false},
	{"databases", call{method: "GET", target: "/.inspect/databases.json?access_token=owner"}, 200, false},
	{"instances", call{method: "POST", target: "/v1beta/projects/p/locations/us-central1/instances?databaseId=made"}, 200, false},
	{"emulators", call{method: "GET", target: "/emulators"}, 200, false},
	{"health", call{method: "GET", target: "/healthz"}, 200, false},
	{"websocket", call{method: "GET", target: "/.ws?v=5&ns=here", header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}}, 101, false},
	{"websocket to a new database", call{method: "GET", target: "/.ws?v=5&ns=opened", header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}}, 101, false},
	{"long poll", call{method: "GET", target: "/.lp?start=t&ser=1&cb=1&v=5&ns=here"}, 200, false},
	{"long poll page", call{method: "GET", target: "/.lp?dframe=t&id=a&pw=b&ns=here"}, 200, false},
	{"event stream", call{method: "GET", target: "/a.json?ns=here", header: http.Header{"Accept": {"text/event-stream"}}}, 200, false},
}

// askers are those who ask, as their browsers say it.
var askers = []struct {
	name    string
	header  http.Header
	foreign bool
}{
	{"a program", http.Header{}, false},
	{"a program, by address", http.Header{"Host": {"127.0.0.1:9000"}}, false},
	{"a program, by another address", http.Header{"Host": {"127.8.8.8"}}, false},
	{"a program, by IPv6", http.Header{"Host": {"[::1]:9000"}}, false},
	{"a program, by a name in capitals", http.Header{"Host": {"LocalHost:9000"}}, false},
	{"a page of localhost", http.Header{"Origin": {"http://localhost:5173"}, "Sec-Fetch-Site": {"same-site"}}, false},
	{"a page of 127.0.0.1", http.Header{"Origin": {"http://127.0.0.1:3000"}, "Sec-Fetch-Site": {"cross-site"}}, false},
	{"a page of IPv6", http.Header{"Origin": {"http://[::1]:3000"}, "Sec-Fetch-Site": {"cross-site"}}, false},
	{"a page of https", http.Header{"Origin": {"https://localhost"}, "Sec-Fetch-Site": {"cross-site"}}, false},
	{"a page of app.localhost", http.Header{"Origin": {"http://app.localhost:8080"}, "Sec-Fetch-Site": {"same-site"}}, false},
	{"a script of localhost", http.Header{"Sec-Fetch-Site": {"same-site"}, "Referer": {"http://localhost:5173/"}}, false},
	{"a script of localhost that hides it", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
	{"a script of 127.0.0.1", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {"http://127.0.0.1:5173/"}}, false},
	{"a frame without an address, of an old browser", http.Header{"Referer": {"about:blank"}}, false},
	{"our own page", http.Header{"Sec-Fetch-Site": {"same-origin"}}, false},
	{"the address bar", http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}}, false},

	{"a foreign page", http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}, true},
	{"a foreign page without the rest", http.Header{"Origin": {"http://evil.example:9000"}}, true},
	{"a foreign page of a like name", http.Header{"Origin": {"http://localhost.evil.example"}}, true},
	{"a foreign page of another", http.Header{"Origin": {"http://notlocalhost"}}, true},
	{"a foreign page with a user", http.Header{"Origin": {"http://localhost@evil.example"}}, true},
	{"a page of a name like an address", http.Header{"Origin": {"http://127.0.0.1.evil.example"}}, true},
	{"a page of an address", http.Header{"Origin": {"http://192.0.2.1"}}, true},
	{"two origins", http.Header{"Origin": {"http://localhost:1", "http://evil.example"}}, true},
	{"an empty origin", http.Header{"Origin": {""}}, true},
	{"an extension", http.Header{"Origin": {"chrome-extension://localhost"}}, true},
	{"a file or a sandbox", http.Header{"Origin": {"null"}}, true},
	{"a foreign script", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {"https://evil.example/"}}, true},
	{"a foreign script that hides it", http.Header{"Sec-Fetch-Site": {"cross-site"}}, true},
	{"a foreign script of an old browser", http.Header{"Referer": {"https://evil.example/"}}, true},
	{"a foreign link", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}, true},
	{"a foreign host", http.Header{"Host": {"evil.example:9000"}}, true},
	{"a foreign host in its own page", http.Header{"Host": {"evil.example:9000"}, "Origin": {"http://evil.example:9000"}, "Sec-Fetch-Site": {"same-origin"}}, true},
	{"a foreign host of a like name", http.Header{"Host": {"localhost.evil.example"}}, true},
	{"a foreign host with a database", http.Header{"Host": {"here.evil.example"}}, true},
	{"a foreign address", http.Header{"Host": {"192.0.2.1"}}, true},
	{"a script that hides it, by IPv4 in IPv6", http.Header{"Host": {"[::ffff:127.0.0.1]:9000"}}, true},
	{"the same as browsers write it", http.Header{"Host": {"[::ffff:7f00:1]:9000"}}, true},
	{"a script that hides it, by a zone", http.Header{"Host": {"[::1%25lo]:9000"}}, true},
	{"a script that hides it, by a final dot", http.Header{"Host": {"localhost.:9000"}}, true},
	{"a script that hides it, by a final dot below", http.Header{"Host": {"app.localhost.:9000"}}, true},
	{"a page of IPv4 in IPv6", http.Header{"Origin": {"http://[::ffff:127.0.0.1]:3000"}}, true},
	{"the address of all", http.Header{"Host": {"0.0.0.0:9000"}}, true},
	{"a foreign host and a port that is none", http.Header{"Host": {"localhost:1:evil.example"}}, true},
}

// TestGate has every asker try every door of a development server. What is refused
// leaves nothing behind.
func TestGate(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	for _, d := range gateDoors {
		t.Run(d.name, func(t *testing.T) {
			o := Options{Dev: true}
			if strings.HasPrefix(d.name, "backup") { // there is none of a database in memory
				o.Dir = t.TempDir()
			}
			ts := serveTest(t, o)
			for _, a := range askers {
				ts.want("PUT", "/a.json?ns=here", "1", 200, "1")
				before := len(ts.spaces.names())
				status, text, origin := ts.knock(d.call, a.header)
				want := d.ok
				reads := a.foreign && d.reads && a.header.Get("Host") == ""
				if a.foreign && !reads {
					want = http.StatusForbidden
				}
				if status != want {
					t.Errorf("%s: %d %.200s, want %d", a.name, status, text, want)
				}
				if !a.foreign || reads {
					continue
				}
				if d.call.method != "HEAD" && !strings.Contains(text, "--allow-") || origin != "" {
					t.Errorf("%s: answered %q for origin %q, want the flag for nobody", a.name, text, origin)
				}
				ts.want("GET", "/a.json?ns=here", "", 200, "1")
				if after := len(ts.spaces.names()); after != before {
					t.Errorf("%s: %d databases, before %d", a.name, after, before)
				}
			}
		})
	}
}

// TestGateMakesNoDatabase: a page may read a database that exists, and make none by that.
func TestGateMakesNoDatabase(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	foreign := http.Header{"Origin": {"https://evil.example"}}
	read := call{method: "GET", target: "/a.json?ns=new"}
	if status, _, _ := ts.knock(read, foreign); status != http.StatusForbidden {
		t.Errorf("read of a database that does not exist: %d, want 403", status)
	}
	if status, _, _ := ts.knock(call{method: "OPTIONS", target: read.target}, foreign); status != http.StatusOK {
		t.Errorf("preflight: %d, want 200", status)
	}
	if names := ts.spaces.names(); len(names) != 0 {
		t.Errorf("databases were made: %q", names)
	}
	ts.want("PUT", "/a.json?ns=new", "1", 200, "1")
	if status, _, _ := ts.knock(read, foreign); status != http.StatusOK {
		t.Errorf("read of one that does: %d, want 200", status)
	}
}

// knock makes a call with more headers. It returns the status and, of a refusal, the
// answer and who may read it.
func (ts *testServer) knock(c call, h http.Header) (status int, text, origin string) {
	ts.t.Helper()
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	for name, values := range h {
		c.header[name] = values
	}
	conn, req := ts.send(c)
	defer conn.Close()
	resp := ts.readHead(conn, req)
	if resp.StatusCode == http.StatusForbidden {
		var b bytes.Buffer
		if _, err := b.ReadFrom(resp.Body); err != nil {
			ts.t.Fatal(err)
		}
		text = b.String()
	}
	return resp.StatusCode, text, resp.Header.Get("Access-Control-Allow-Origin")
}

// TestGateOptions opens the gate for those that the options name, and for no others.
func TestGateOptions(t *testing.T) {
	ts := serveTest(t, Options{
		Dev:          true,
		AllowHosts:   []string{"10.0.2.2", "box.lan", "localhost"},
		AllowOrigins: []string{"https://App.example.org:443", "capacitor://localhost"},
	})
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"10.0.2.2:9000", "", 200},
		{"10.0.2.2:9000", "http://10.0.2.2:9000", 200},
		{"10.0.2.2:9000", "http://10.0.2.3:9000", 403},
		{"box.lan:9000", "http://box.lan:9000", 200},
		{"box.lan:9000", "http://box.lan.evil.example:9000", 403},
		{"shop.box.lan:9000", "", 403},
		{"Box.lan.:9000", "", 200},
		{"localhost.:9000", "", 403},
		{"app.example.org", "", 200},
		{"localhost", "https://app.example.org", 200},
		{"localhost", "http://app.example.org", 403},
		{"localhost", "https://app.example.org:8443", 403},
		{"localhost", "https://other.example.org", 403},
		{"localhost", "capacitor://localhost", 200},
		{"localhost", "ionic://localhost", 403},
		{"localhost", "null", 403},
		{"203.0.113.9", "", 403},
	} {
		h := http.Header{"Host": {c.host}}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		if status, text, _ := ts.knock(call{method: "PUT", target: "/a.json?ns=here", body: "1"}, h); status != c.want {
			t.Errorf("host %s, origin %s: %d %s, want %d", c.host, c.origin, status, text, c.want)
		}
	}
}

// TestGateOfAllAddresses is about a server that listens on all addresses.
func TestGateOfAllAddresses(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, AllowHosts: []string{"0.0.0.0"}, AllowOrigins: []string{"null"}})
	for _, c := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"an address", http.Header{"Host": {"192.168.1.5:9000"}}, 200},
		{"its page", http.Header{"Host": {"192.168.1.5:9000"}, "Origin": {"http://192.168.1.5:5173"}}, 200},
		{"the page of another", http.Header{"Host": {"192.168.1.5:9000"}, "Origin": {"http://203.0.113.9"}}, 403},
		{"a name", http.Header{"Host": {"evil.example:9000"}}, 403},
		{"a file", http.Header{"Origin": {"null"}}, 200},
		{"a script of a file", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 200},
		{"a foreign page", http.Header{"Origin": {"https://evil.example"}}, 403},
	} {
		if status, text, _ := ts.knock(call{method: "PUT", target: "/a.json?ns=here", body: "1"}, c.header); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, status, text, c.want)
		}
	}
}

// TestGateLetsLinksShowPages has a link of a foreign page open the demonstration.
func TestGateLetsLinksShowPages(t *testing.T) {
	ts := serveTest(t, Options{Dev: true, Demo: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	link := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}, "Referer": {"https://mail.example/"}}
	frame := link.Clone()
	frame.Set("Sec-Fetch-Dest", "iframe")
	for _, c := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"/demo/", link, 200}, {"/", link, 200}, {"/demo/", frame, 403}, {"/demo/decisions", link, 403}, {"/emulators", link, 403},
		{"/?ns=here/emulators", link, 403}, {"/?ns=here/demo/decisions", link, 403}, {"/?ns=here/.json?access_token=owner", link, 403},
		{"/?ns=here/demo/", link, 200}, {"/%64emo/", link, 403},
	} {
		if status, _, _ := ts.knock(call{method: "GET", target: c.path}, c.header); status != c.want {
			t.Errorf("%s as %s: %d, want %d", c.path, c.header.Get("Sec-Fetch-Dest"), status, c.want)
		}
	}
}

// TestGateIsOfDevOnly: in production tokens protect the data, and every origin may ask.
func TestGateIsOfDevOnly(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"here"}, AdminSecrets: []string{"owner"}})
	for _, a := range askers {
		if a.name == "a foreign host with a database" {
			continue // it names one that does exist
		}
		if status, _, _ := ts.knock(call{method: "GET", target: "/a.json?ns=here", header: http.Header{"Authorization": {"Bearer owner"}}}, a.header); status != 200 {
			t.Errorf("%s: %d, want 200", a.name, status)
		}
	}
}

// TestGateIsInTheLog has the log name the flag once, however many are refused.
func TestGateIsInTheLog(t *testing.T) {
	var log console
	ts := serveTest(t, Options{Dev: true, Log: textLog(&log)})
	for range 5 {
		ts.knock(call{method: "DELETE", target: "/a.json"}, http.Header{"Origin": {"https://evil.example"}})
		ts.knock(call{method: "GET", target: "/a.json"}, http.Header{"Host": {"evil.example"}})
	}
	for _, flag := range []string{"--allow-origin https://evil.example", "--allow-host evil.example"} {
		if n := strings.Count(log.String(), flag); n != 1 {
			t.Errorf("the log has %q %d times, want once:\n%s", flag, n, log.String())
		}
	}
}

func TestGateRefusesOrigins(t *testing.T) {
	for _, origin := range []string{"", "*", "example.org", "https://", "https://a.example/path", "https://u@a.example", "//a.example"} {
		if _, err := New(Options{Dev: true, AllowOrigins: []string{origin}}); err == nil {
			t.Errorf("allowed %q, which is no origin", origin)
		}
	}
}

// readHead returns the response to a request up to its header. Its body may be one that
// does not end.
func (ts *testServer) readHead(conn net.Conn, req *http.Request) *http.Response {
	ts.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		ts.t.Fatalf("read response: %v", err)
	}
	return resp
}
