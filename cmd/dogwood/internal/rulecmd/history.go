package rulecmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// Where a server has its rules and their versions.
const (
	rulesPlace    = "/.settings/rules"
	versionsPlace = "/.settings/rules/versions"
	rollbackPlace = "/.settings/rules/rollback"
)

// rulesHistory returns the versions of a database's rules, newest first.
func rulesHistory(ctx context.Context, db *client.Client) (list []versions.Version, err error) {
	r, err := db.Request(ctx, http.MethodGet, versionsPlace, nil, nil)
	if err != nil {
		return nil, err
	}
	return list, db.Read(r, "versions of the rules", &list)
}

// missingVersion explains the answer that there is no such thing to a request
// about a version of the rules: which versions there are. Other errors, and 0,
// which is no version, stay as they are.
func missingVersion(ctx context.Context, db *client.Client, version int64, err error) error {
	answer := (*client.ServerError)(nil)
	if version == 0 || !errors.As(err, &answer) || answer.Status != http.StatusNotFound {
		return err
	}
	list, listErr := rulesHistory(ctx, db)
	switch {
	case listErr != nil: // it is the database that is missing
		return err
	case len(list) == 0:
		return fmt.Errorf("there is no version %d of the rules; none were deployed so far", version)
	case len(list) == 1:
		return fmt.Errorf("there is no version %d of the rules; there is version %d", version, list[0].Number)
	}
	return fmt.Errorf("there is no version %d of the rules; there are versions %d to %d", version, list[len(list)-1].Number, list[0].Number)
}
