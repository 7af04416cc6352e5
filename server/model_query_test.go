package server

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// query makes a random query; REST knows no keys in bounds.
func (m *modelRun) query(rest bool) refQuery {
	q := refQuery{order: m.pick([]string{"$key", "$priority", "$value", "a", "b/c"}), limit: m.rnd.IntN(4), last: m.rnd.IntN(2) == 0}
	if m.rnd.IntN(3) == 0 {
		q.start = m.bound(q.order, rest)
	}
	if m.rnd.IntN(3) == 0 {
		q.end = m.bound(q.order, rest)
	}
	return q
}

func (m *modelRun) bound(order string, rest bool) *refBound {
	b := &refBound{value: m.leaf(), exclusive: m.rnd.IntN(2) == 0}
	if order == "$key" {
		b.value = m.pick(refKeySet)
	} else if !rest && m.rnd.IntN(2) == 0 {
		key := m.pick(refKeySet)
		b.key = &key
	}
	return b
}

// rest returns the query as REST parameters.
func (q refQuery) rest() url.Values {
	v := url.Values{"orderBy": {jsonText(q.order)}}
	set := func(b *refBound, in, out string) {
		if b == nil {
			return
		}
		if b.exclusive {
			in = out
		}
		v.Set(in, jsonText(b.value))
	}
	set(q.start, "startAt", "startAfter")
	set(q.end, "endAt", "endBefore")
	switch {
	case q.limit > 0 && q.last:
		v.Set("limitToLast", strconv.Itoa(q.limit))
	case q.limit > 0:
		v.Set("limitToFirst", strconv.Itoa(q.limit))
	}
	return v
}

// wire returns the query as the realtime protocol writes it.
func (q refQuery) wire() map[string]any {
	w := map[string]any{"i": strings.Replace(q.order, "$", ".", 1)}
	set := func(b *refBound, side, far, near string) {
		if b == nil {
			return
		}
		w[side+"p"], w[side+"in"] = b.value, !b.exclusive
		switch {
		case b.key != nil:
			w[side+"n"] = *b.key
		case b.exclusive && q.order != "$key":
			w[side+"n"] = far
		case q.order != "$key":
			w[side+"n"] = near
		}
	}
	set(q.start, "s", "[MAX_NAME]", "[MIN_NAME]")
	set(q.end, "e", "[MIN_NAME]", "[MAX_NAME]")
	if q.limit > 0 {
		w["l"], w["vf"] = q.limit, "l"
		if q.last {
			w["vf"] = "r"
		}
	}
	return w
}

func (m *modelRun) listen(c *modelClient) {
	if len(c.views) > 6 {
		m.unlisten(c)
	}
	v := &modelView{path: m.path(3)}
	b := map[string]any{"p": strings.Join(v.path, "/"), "h": ""}
	if m.rnd.IntN(3) > 0 {
		v.query = m.query(false)
		v.tag = c.next + 1
		b["q"], b["t"] = v.query.wire(), v.tag
	}
	c.views[fmt.Sprint(v.path, v.tag)] = v
	m.wantOK(m.request(c, "q", jsonText(b)))
}

func (m *modelRun) unlisten(c *modelClient) {
	for key, v := range c.views {
		b := map[string]any{"p": strings.Join(v.path, "/")}
		if v.tag != 0 {
			b["t"] = v.tag
		}
		m.wantOK(m.request(c, "n", jsonText(b)))
		delete(c.views, key)
		return
	}
}
