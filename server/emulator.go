package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/coverage"
	"github.com/dogwooddb/dogwood/server/front"
)

// This file is what the emulator tools and the firebase CLI ask of a server
// beside data (REST §13 and §14). Only dev mode answers, except for the list
// of databases, which an administrator may see everywhere.

const textAppendJSON = "append .json to your request URI to use the REST API.\n"

// getFront answers probes of whether the server is up, and shows browsers the first page.
func getFront(q *request) (answer, error) {
	q.w.Header().Add("Vary", "Accept")
	if front.Wanted(q.r.Header) {
		front.SetHeaders(q.w.Header())
		return answer{status: http.StatusOK, kind: typePage, body: q.s.front.For(q.r.Host)}, nil
	}
	return answer{status: http.StatusOK, kind: typeText, body: []byte("Dogwood is ready: " + textAppendJSON)}, nil
}

// frontPage is what a browser is shown at a path that is no data.
const frontPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Dogwood</title></head>
<body><h1>Dogwood</h1>
<p>This is a realtime JSON tree database.
append .json to your request URI to use the REST API.
<a href="/">What this is</a></p></body></html>
`

const typePage = "text/html; charset=utf-8"

// noSuffix answers requests that forgot .json (REST §1.1).
func noSuffix(q *request) (answer, error) {
	if q.method == http.MethodGet || q.method == http.MethodHead {
		return answer{status: http.StatusNotFound, kind: typePage, body: []byte(frontPage)}, nil
	}
	return answer{status: http.StatusMethodNotAllowed, kind: typeText, body: []byte(textAppendJSON)}, nil
}

// encode answers with a value of ours, whose texts need no care about HTML.
func (q *request) encode(v any) (answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return q.jsonText(string(body)), nil
}

// openDev refuses what serve mode does not have, as if it did not exist.
func (q *request) openDev() error {
	if !q.s.opts.Dev {
		return errNotFound
	}
	return nil
}

// getEmulators tells test tools where the database is: GET /emulators of the
// emulator hub. The host that they reached is the host they can use.
func getEmulators(q *request) (answer, error) {
	host, port := "localhost", 9000
	if addr, ok := q.r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		host, port = addr.IP.String(), addr.Port
	}
	type emulator struct {
		Name string `json:"name"`
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	return q.encode(map[string]emulator{"database": {"database", host, port}})
}

// putFunctions accepts that function triggers, which do not exist, are
// switched off and on: PUT /functions/disableBackgroundTriggers
func putFunctions(q *request) (answer, error) {
	switch strings.TrimPrefix(q.path, "/functions/") {
	case "disableBackgroundTriggers":
		return q.jsonText(`{"enabled":false}`), nil
	case "enableBackgroundTriggers":
		return q.jsonText(`{"enabled":true}`), nil
	}
	return answer{}, errNotFound
}

// An instance describes a database to the CLI. Its fields are those of the
// management API of the hosted service; tools refuse an answer that lacks one.
type instance struct {
	Name        string `json:"name"`
	Project     string `json:"project"`
	DatabaseURL string `json:"databaseUrl"`
	Type        string `json:"type"`
	State       string `json:"state"`
}

func describeInstance(q *request, project, name string) instance {
	i := instance{
		Name:        "projects/" + project + "/locations/us-central1/instances/" + name,
		Project:     "projects/" + project,
		DatabaseURL: "http://" + q.r.Host + "?ns=" + name,
		Type:        "USER_DATABASE",
		State:       "ACTIVE",
	}
	if fallback, err := q.s.spaces.fallback(); err == nil && fallback == name {
		i.Type = "DEFAULT_DATABASE"
	}
	return i
}

// getInstances lists databases, or describes one:
// GET /v1beta/projects/P/locations/-/instances[/I]
func getInstances(q *request) (answer, error) {
	project, name, err := managedInstance(q)
	if err != nil {
		return answer{}, err
	}
	if name != "" {
		return q.encode(describeInstance(q, project, name))
	}
	list := []instance{}
	for _, name := range q.s.spaces.names() {
		list = append(list, describeInstance(q, project, name))
	}
	return q.encode(map[string]any{"instances": list})
}

// postInstance makes a database:
// POST /v1beta/projects/P/locations/L/instances?databaseId=I
func postInstance(q *request) (answer, error) {
	project, name, err := managedInstance(q)
	if err != nil {
		return answer{}, err
	}
	if id, _ := q.params.get("databaseId"); name == "" && validNamespace(id) {
		name = id
	}
	if name == "" {
		return answer{}, badNamespace("")
	}
	if only, _ := q.params.get("validateOnly"); only != "true" {
		if _, err := q.s.spaces.find(name); err != nil {
			return answer{}, err
		}
	}
	return q.encode(describeInstance(q, project, name))
}

// managedInstance takes the path of a management request apart.
func managedInstance(q *request) (project, name string, err error) {
	parts := strings.Split(strings.TrimPrefix(q.path, "/v1beta/projects/"), "/")
	if len(parts) < 4 || len(parts) > 5 || parts[1] != "locations" || parts[3] != "instances" {
		return "", "", errNotFound
	}
	if len(parts) == 5 {
		if name = parts[4]; !validNamespace(name) {
			return "", "", badNamespace(name)
		}
	}
	return parts[0], name, nil
}

// openCoverage is open for reports about rules, which anybody may see in dev
// mode, as with the emulator (REST §13). Servers that do not count answer as if
// there were no such thing. The report quotes rules and no data, so in dev mode
// it is open as the rules themselves are.
func (q *request) openCoverage() error {
	if q.s.opts.Decisions.Coverage {
		return q.openDatabase()
	}
	if err := q.openAdmin(); err != nil {
		return err
	}
	return errNotFound
}

func (q *request) coverage() rules.CoverageReport {
	return q.space.decisions.CoverageOf(q.db.Rules())
}

// getCoverageJSON answers with the report: GET /.inspect/coverage.json
func getCoverageJSON(q *request) (answer, error) {
	return q.encode(q.coverage())
}

// getCoverage answers with the report as a page: GET /.inspect/coverage
func getCoverage(q *request) (answer, error) {
	var page bytes.Buffer
	if err := coverage.WriteHTML(&page, coverage.Document{Name: q.ns, Report: q.coverage()}); err != nil {
		return answer{}, fmt.Errorf("coverage page: %w", err)
	}
	return answer{status: http.StatusOK, kind: typePage, body: page.Bytes()}, nil
}
