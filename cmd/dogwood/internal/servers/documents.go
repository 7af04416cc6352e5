package servers

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/server"
)

// documentFlags say which data documents a development server begins with.
type documentFlags struct {
	DataDocument string `help:"Data document for databases that were given none, or a firebase.json that names it." type:"path" placeholder:"FILE"`

	foundDocument bool // DataDocument is a file of the working directory, and not from the command line
	documents     *project.DataSet
}

// loadDocuments reads the data documents into the options of a server. ofDirectory says that the
// rules are those of the working directory, or that there are none.
func (f *documentFlags) loadDocuments(o *server.Options, rules string, ofDirectory bool) (err error) {
	switch {
	case f.DataDocument != "":
	case ofDirectory || rules == "":
		f.DataDocument = project.FindData()
		f.foundDocument = f.DataDocument != ""
	case project.NamesData(rules):
		f.DataDocument = rules
	}
	if f.DataDocument == "" {
		return nil
	}
	if f.documents, err = project.LoadData(f.DataDocument); err != nil {
		return err
	}
	o.Data, o.DataOf = f.documents.All, f.documents.Of
	return nil
}

// watchDocuments puts data documents in force when their files change, until ctx ends. Files
// that can't be used leave them as they are.
func (f *documentFlags) watchDocuments(ctx context.Context, s *server.Server, w io.Writer) {
	ticks := time.NewTicker(rulesPeriod)
	defer ticks.Stop()
	for set := f.documents; ; {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		if set.Unchanged() {
			continue
		}
		next, err := project.LoadData(f.DataDocument)
		var kept []string
		if err == nil {
			kept, err = s.SetDefaultData(ctx, next.All, next.Of)
		}
		set = next
		if err != nil {
			fmt.Fprintf(w, "\n%v\ndata document not reloaded: the one before stays in force\n", err)
			continue
		}
		text := ""
		if len(kept) > 0 {
			text = fmt.Sprintf("%s: keeps what was deployed: deploy the document again to change it\n", strings.Join(kept, ", "))
		}
		fmt.Fprintf(w, "\ndata document reloaded: %s\n%s", f.DataDocument, text)
	}
}

// documentLine says where the data document is, "" if there is none.
func (f *documentFlags) documentLine() string {
	switch {
	case f.DataDocument == "":
		return ""
	case f.foundDocument:
		return fmt.Sprintf("  declared   %s   (of this directory)\n", f.DataDocument)
	}
	return fmt.Sprintf("  declared   %s\n", f.DataDocument)
}
