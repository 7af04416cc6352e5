package server

import (
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// rest sends a REST request and returns the answer.
func (m *modelRun) rest(method string, path []string, query url.Values, payload string, header ...string) *httptest.ResponseRecorder {
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	target := "/" + strings.Join(path, "/") + ".json?" + query.Encode()
	m.note("%s %s %s", method, target, payload)
	r := localRequest(method, target, strings.NewReader(payload))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	m.srv.ServeHTTP(w, r)
	return w
}

func (m *modelRun) etag(p []string) string {
	w := m.rest("GET", slices.Clone(p), nil, "", "X-Firebase-ETag", "true")
	if tag := w.Header().Get("ETag"); tag != "null_etag" {
		return tag
	}
	return ""
}

func (m *modelRun) restWrite() {
	p, v := m.path(3), m.value(2)
	method, payload := "PUT", jsonText(v)
	switch m.rnd.IntN(4) {
	case 0:
		method, v, payload = "DELETE", nil, ""
	case 1:
		u := m.updateOf()
		m.applyUpdate(p, u)
		m.wantStatus(m.rest("PATCH", slices.Clone(p), nil, jsonText(u)), 200)
		return
	case 2:
		w := m.rest("PUT", slices.Clone(p), nil, payload, "If-Match", "wrong")
		m.wantStatus(w, 412)
		m.wantBody(w, m.want.get(p).plain())
		return
	}
	m.want = m.want.with(p, refParse(v))
	m.wantStatus(m.rest(method, slices.Clone(p), nil, payload), 200)
}

func (m *modelRun) wantStatus(w *httptest.ResponseRecorder, status int) {
	if w.Code != status {
		m.t.Errorf("status %d %s, want %d", w.Code, w.Body, status)
	}
}

func (m *modelRun) wantBody(w *httptest.ResponseRecorder, want any) {
	got, err := refDecode(w.Body.Bytes())
	if err != nil || !reflect.DeepEqual(got, want) {
		m.t.Errorf("answer differs (%v)\n got %.500s\nwant %.500s", err, w.Body, jsonText(want))
	}
}

func (m *modelRun) restRead() {
	p := m.path(3)
	switch m.rnd.IntN(4) {
	case 0:
		w := m.rest("GET", slices.Clone(p), url.Values{"format": {"export"}}, "")
		m.wantBody(w, m.want.get(p).export())
		return
	case 1:
		want := map[string]any{}
		n := m.want.get(p)
		if n != nil && n.leaf == nil {
			for k := range n.kids {
				want[k] = true
			}
			m.wantBody(m.rest("GET", slices.Clone(p), url.Values{"shallow": {"true"}}, ""), want)
		}
		return
	}
	q := m.query(true)
	w := m.rest("GET", slices.Clone(p), q.rest(), "")
	n := m.want.get(p)
	if n != nil && n.leaf != nil {
		n = nil // a leaf has no children to order (REST §5.1)
	}
	m.wantBody(w, q.apply(n).plain())
}
