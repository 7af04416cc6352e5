package versioned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// maxAnswer bounds what is read of the answer to an upload.
const maxAnswer = 8 << 20

// Upload sends a text to a server, which checks it and, unless query has dryRun, puts it in
// force. tag, if it is not "", is the ETag of the text that must be in force. The error is of
// type rules.Errors if the server found mistakes in the text. answer is the body of a success.
func (t Text) Upload(ctx context.Context, db *client.Client, query url.Values, tag, text string) (answer []byte, err error) {
	r, err := db.Request(ctx, http.MethodPut, t.Place, query, client.NewPayload(text))
	if err != nil {
		return nil, err
	}
	if tag != "" {
		r.Header.Set("If-Match", tag)
	}
	resp, err := db.Answer(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2:
		return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	case resp.StatusCode == http.StatusBadRequest:
		return nil, mistakes(resp)
	}
	return nil, db.Refusal(resp)
}

// mistakes returns what a server found wrong in a text.
func mistakes(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	var answer struct{ Error string }
	if json.Unmarshal(body, &answer) != nil || answer.Error == "" {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	var errs rules.Errors
	for line := range strings.SplitSeq(strings.TrimSpace(answer.Error), "\n") {
		var at rules.Pos
		if n, _ := fmt.Sscanf(line, "%d:%d:", &at.Line, &at.Col); n != 2 {
			return errors.New(console.Printable(answer.Error))
		}
		errs = append(errs, &rules.SyntaxError{Pos: at, Msg: console.Printable(strings.TrimPrefix(line, at.String()+": "))})
	}
	return errs
}

// VersionOf names the version that has a text in force. Without an answer to that it is in
// force nonetheless.
func (t Text) VersionOf(ctx context.Context, db *client.Client, text string) string {
	list, err := t.Versions(ctx, db)
	if err != nil {
		return ""
	}
	for _, v := range list {
		if v.Hash == versions.Hash(text) {
			return fmt.Sprintf(", as version %d", v.Number)
		}
	}
	return ""
}

// Each calls deploy for what a firebase.json names: for each database, or for that of db if
// it has a name.
func (t Text) Each(config string, db *client.Client, deploy func(file string, db *client.Client) error) error {
	targets, err := new(project.RulesSet).Targets(config)
	if err != nil {
		return err
	}
	wanted, deployed := db.Namespace, false
	for _, target := range targets {
		namespaces := target.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{wanted}
		}
		for _, ns := range namespaces {
			if t.of(target) == "" || wanted != "" && ns != wanted {
				continue
			}
			one := *db
			one.Namespace, deployed = ns, true
			if err := deploy(t.of(target), &one); err != nil {
				return err
			}
		}
	}
	switch {
	case deployed:
		return nil
	case wanted == "":
		return fmt.Errorf("%s names no %s", config, t.Name)
	}
	return fmt.Errorf("%s names no %s for the database %q", config, t.Name, wanted)
}
