// Package versioned has what the commands for rules and for data documents share. Both are
// texts in force in a database, and a server keeps the versions of both.
package versioned

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// A Text is a kind of text that has versions.
type Text struct {
	Place string // where a server has it
	Name  string // for people
	Is    string // "is" or "are"
	of    func(project.Target) string
}

// The texts that there are.
var (
	Rules = Text{"/.settings/rules", "rules", "are", func(t project.Target) string { return t.Rules }}
	Data  = Text{"/.settings/data", "data document", "is", func(t project.Target) string { return t.Data }}
)

// Versions returns the versions of a database's text, newest first.
func (t Text) Versions(ctx context.Context, db *client.Client) (list []versions.Version, err error) {
	r, err := db.Request(ctx, http.MethodGet, t.Place+"/versions", nil, nil)
	if err != nil {
		return nil, err
	}
	return list, db.Read(r, "versions of the "+t.Name, &list)
}

// missing explains the answer that there is no such thing to a request about a version:
// which versions there are. Other errors, and 0, which is no version, stay as they are.
func (t Text) missing(ctx context.Context, db *client.Client, version int64, err error) error {
	answer := (*client.ServerError)(nil)
	if version == 0 || !errors.As(err, &answer) || answer.Status != http.StatusNotFound {
		return err
	}
	list, listErr := t.Versions(ctx, db)
	none := fmt.Errorf("there is no version %d of the %s", version, t.Name)
	switch {
	case listErr != nil: // it is the database that is missing
		return err
	case len(list) == 0:
		return fmt.Errorf("%w; none were deployed so far", none)
	case len(list) == 1:
		return fmt.Errorf("%w; there is version %d", none, list[0].Number)
	}
	return fmt.Errorf("%w; there are versions %d to %d", none, list[len(list)-1].Number, list[0].Number)
}

// InDatabase names the database that a command was for, if it was named.
func InDatabase(db *client.Client) string {
	if db.Namespace == "" {
		return ""
	}
	return " in " + db.Namespace
}
