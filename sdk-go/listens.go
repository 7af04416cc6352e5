package dogwood

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// listens is a Client as its replica's network: what it asks for is asked of the
// server. The client's lock is held whenever the replica is used.
type listens Client

func (n *listens) Listen(s *replica.Source) {
	if c := (*Client)(n); c.link != nil {
		c.listen(s)
	}
}

func (n *listens) Unlisten(s *replica.Source) {
	c := (*Client)(n)
	if c.link == nil {
		return
	}
	c.lastID++
	c.link.send(wire.AppendUnlisten(nil, c.lastID, s.Path.String(), encodeQuery(s.Query), s.Tag))
}

// listen asks the server to follow a source from what is known of it.
func (c *Client) listen(s *replica.Source) {
	c.lastID++
	c.asked[c.lastID] = asked{source: s}
	if s.Query.Filter != nil && !c.link.has(wire.FeatureFilters) {
		answerSoon(c, c.lastID, statusUnsupported, "")
		return
	}
	positions := c.link.has(wire.FeaturePositions)
	since := s.Resume(positions)
	msg := wire.AppendListen(nil, c.lastID, s.Path.String(), encodeQuery(s.Query), s.Tag, s.Hash())
	if positions {
		msg = wire.AppendSince(msg, since)
	}
	c.post(c.lastID, msg)
}

// asked is what the answer to a listen is for: a source of the replica, or a loop over Changes or Notices.
type asked struct {
	source  *replica.Source
	changes *changeFeed
}

func (a asked) path() string {
	if a.changes != nil {
		return a.changes.of.path.String()
	}
	return a.source.Path.String()
}

// refuse ends a listen. The lock is held.
func (a asked) refuse(c *Client, why error) {
	if a.changes != nil {
		a.changes.end(why)
		return
	}
	c.replica.Refused(a.source, why)
}

// handle takes a message of the server. An error ends the connection.
func (c *Client) handle(m wire.ServerMessage) error {
	if m.Control != "" {
		return c.control(m)
	}
	c.mu.Lock()
	err := handleData(c, m)
	lines := c.lines
	c.lines = nil
	c.mu.Unlock()
	for _, write := range lines {
		write()
	}
	return err
}

// handleData takes an answer or a push. The lock is held.
func handleData(c *Client, m wire.ServerMessage) error {
	switch {
	case m.Status != "":
		c.response(m)
		return nil
	case m.Push == wire.PushAuthRevoked:
		c.refresh = true
		return errExpired
	case m.Push == wire.PushCancel:
		return c.cancelled(m)
	case m.Push == wire.PushData, m.Push == wire.PushMerge:
		return c.told(m)
	case m.Push == wire.PushNotice:
		return noticed(c, m)
	case m.Push == wire.PushPosition:
		c.replica.At(textOf(m.Data))
	case m.Push == wire.PushSecurityDebug:
		logLater(c, slog.LevelInfo, "security debug", "text", string(m.Data))
	}
	return nil // what is unknown is of no concern
}

// logLater logs once the lock that is held is free: a handler of the application may ask the
// client something.
func logLater(c *Client, level slog.Level, text string, args ...any) {
	c.lines = append(c.lines, func() { c.options.Log.Log(context.Background(), level, text, args...) })
}

// response takes the answer to a listen or another request.
func (c *Client) response(m wire.ServerMessage) {
	a, ok := c.asked[m.ID]
	if !ok {
		c.answered(m)
		return
	}
	delete(c.asked, m.ID)
	if m.Status != wire.StatusOK {
		a.refuse(c, refusal("listen", a.path(), m))
		return
	}
	if a.changes != nil {
		a.changes.begin()
		return
	}
	s := a.source
	if bytes.Contains(m.Data, []byte("no_index")) {
		logLater(c, slog.LevelWarn, "a query has no index", "path", s.Path.String(), "query", encodeQuery(s.Query))
	}
	c.replica.Listened(s)
}

// told takes a push of data.
func (c *Client) told(m wire.ServerMessage) error {
	t, err := tree.ParseTarget(string(m.Path))
	if err != nil {
		return fmt.Errorf("push at %q: %w", m.Path, err)
	}
	var changes []replica.Change
	if m.Push == wire.PushMerge {
		changes, err = readMerge(t.Path, m.Data)
	} else {
		changes, err = readData(t, m.Data)
	}
	if err != nil {
		return fmt.Errorf("push at %q: %w", m.Path, err)
	}
	if f := c.changing[m.Tag]; f != nil {
		more := make([]news, len(changes))
		for i, change := range changes {
			more[i].Change = change
		}
		f.add(more...)
		return nil
	}
	if err := c.replica.Told(t.Path, m.Tag, changes); err != nil {
		logLater(c, slog.LevelDebug, "push is not for us", "path", t.Path.String(), "err", err) // of a listen that has ended
	}
	return nil
}

// noticed takes a notice.
func noticed(c *Client, m wire.ServerMessage) error {
	var n news
	if err := json.Unmarshal(m.Data, &n.notice); err != nil {
		return fmt.Errorf("notice at %q: %w", m.Path, err)
	}
	if f := c.changing[m.Tag]; f != nil {
		f.add(n)
	}
	return nil
}

func readData(t tree.Target, data []byte) ([]replica.Change, error) {
	n, err := readNode(data)
	return []replica.Change{{Target: t, Node: n}}, err
}

// readNode reads what a server sends: data in export form.
func readNode(data []byte) (tree.Node, error) {
	d, err := tree.Parse(string(data), 0, tree.Lenient)
	if err != nil {
		return tree.Empty, err
	}
	n, ok := d.Node()
	if !ok {
		return tree.Empty, fmt.Errorf("%w: a server value", ErrValue)
	}
	return n, nil
}

// readMerge reads values of several places below p.
func readMerge(p tree.Path, data []byte) ([]replica.Change, error) {
	u, err := tree.ParseUpdate(p, string(data), tree.Lenient)
	if err != nil {
		return nil, err
	}
	changes := make([]replica.Change, len(u))
	for i, w := range u {
		n, ok := w.Value.Node()
		if !ok {
			return nil, fmt.Errorf("%w: a server value", ErrValue)
		}
		changes[i] = replica.Change{Target: w.Target, Node: n}
	}
	return changes, nil
}

// cancelled takes the push that listens at a place have ended: those with the
// queries that it names, or that of the whole place.
func (c *Client) cancelled(m wire.ServerMessage) error {
	p, err := tree.ParsePath(string(m.Path))
	if err != nil {
		return fmt.Errorf("cancel at %q: %w", m.Path, err)
	}
	var queries []json.RawMessage
	if m.Queries != nil {
		if err := json.Unmarshal(m.Queries, &queries); err != nil {
			return fmt.Errorf("cancel at %q: %w", m.Path, err)
		}
	}
	why := &Error{Op: "listen", Path: p.String(), Status: wire.StatusPermissionDenied, Text: "the server has ended the listen", cause: ErrPermissionDenied}
	if m.Reason != "" {
		why.Status, why.Text, why.cause = m.Reason, textOf(m.Data), classes[m.Reason]
	}
	if len(queries) == 0 {
		c.revoke(p, "", why)
	}
	for _, q := range queries {
		c.revoke(p, string(q), why)
	}
	return nil
}

func (c *Client) revoke(p tree.Path, query string, why error) {
	s := c.replica.Source(p, func(q tree.Query) bool { return sameQuery(encodeQuery(q), query) })
	if s != nil {
		c.replica.Refused(s, why)
	}
	for _, f := range changesAt(c, p, query) {
		f.end(why)
	}
}
