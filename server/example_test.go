package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server"
)

// must ends an example that fails.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// printAnswer sends a request and prints the answer.
func printAnswer(method, url, body, secret string) {
	r := must(http.NewRequest(method, url, strings.NewReader(body)))
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	resp := must(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, strings.TrimSpace(string(must(io.ReadAll(resp.Body)))))
}

// A Server is a handler, so a program can serve its own pages and its databases from one
// address.
func ExampleServer() {
	db := must(server.New(server.Options{
		Namespaces: []string{"site"},
		Rules:      must(rules.Parse(`{"rules": {"visits": {".read": true, ".write": "newData.isNumber()"}}}`)),
	}))
	defer db.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /about", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "This is our site.") })
	mux.Handle("/", db) // REST, event streams and WebSockets
	site := httptest.NewServer(mux)
	defer site.Close()

	printAnswer("GET", site.URL+"/about", "", "")
	printAnswer("PUT", site.URL+"/visits.json", `{".sv": {"increment": 1}}`, "")
	printAnswer("GET", site.URL+"/visits.json", "", "")
	// Output:
	// 200 This is our site.
	// 200 1
	// 200 1
}

// Rules decide about requests of users. They do not apply to an admin secret.
func ExampleNew() {
	const secret = "a secret of the backend"
	s := must(server.New(server.Options{
		DefaultNamespace: "shop",
		AdminSecrets:     []string{secret},
		Rules:            must(rules.Parse(`{"rules": {"prices": {".read": true}}}`)),
	}))
	defer s.Close()
	ts := httptest.NewServer(s)
	defer ts.Close()

	printAnswer("PUT", ts.URL+"/prices/tea.json", "3", "")
	printAnswer("PUT", ts.URL+"/prices/tea.json", "3", secret)
	printAnswer("GET", ts.URL+"/prices.json", "", "")
	// Output:
	// 401 {
	//   "error" : "Permission denied"
	// }
	// 200 3
	// 200 {"tea":3}
}

// Serve runs a server until its context ends. Requests under way are finished first.
func ExampleServer_Serve() {
	s := must(server.New(server.Options{Dev: true}))
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()

	printAnswer("PUT", "http://"+l.Addr().String()+"/greeting.json?ns=demo", `"hello"`, "")
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 "hello"
	// <nil>
}
