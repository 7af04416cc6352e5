package sync

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// explain answers with what a read takes, or with what a write would if the
// request has data (docs/extensions.md). Like a get it sees the earlier writes of
// its session.
func (s *Session) explain(ctx context.Context, r wire.Request) error {
	if r.Body.HasData {
		return s.explainWrite(ctx, r)
	}
	v, err := readView(r)
	if err != nil {
		return err
	}
	s.out.PushLater(waitingRead+v.size(), func() [][]byte {
		read := v.read(s.as())
		read.Hold = s.out.Hold
		e, err := s.db.Explain(ctx, read)
		if err != nil {
			return [][]byte{s.failure(v.id, err)}
		}
		return [][]byte{explanation(v.id, e)}
	})
	return nil
}

func (s *Session) explainWrite(ctx context.Context, r wire.Request) error {
	w := Write{Caller: s.as(), Merge: r.Body.Merge, Turn: s.out.Readers()}
	err := s.reserve(ctx, r.Body.Data)
	if err != nil {
		return err
	}
	if w.Merge {
		w.Base, w.Update, err = s.readMerge(ctx, r.Body)
	} else if w.Update, err = s.readPut(ctx, r.Body); err == nil {
		w.Base = w.Update[0].Path
	}
	if err != nil {
		return err
	}
	if r.Body.HasHash {
		hash := strings.Clone(r.Body.Hash)
		w.If = &hash
	}
	e, err := s.db.ExplainWrite(ctx, w)
	if err != nil {
		return err
	}
	s.reply(explanation(r.ID, e))
	return nil
}

func explanation(id int64, e any) []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic("sync: " + err.Error()) // explanations are made of texts and numbers
	}
	return wire.AppendOK(nil, id, string(text))
}
