package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// rulesFlags say which rules a server begins with, and what it keeps of their
// decisions.
type rulesFlags struct {
	Rules           string `help:"Rules document for databases without uploaded rules, or a firebase.json that names it." type:"path" placeholder:"FILE"`
	RulesDialect    string `help:"Language of rules, and of uploaded rules that do not name theirs: firebase or wilddog." enum:"firebase,wilddog" default:"firebase" placeholder:"NAME"`
	RulesExtensions string `help:"Extensions that rules may use: newRoot, text, dates, counts." placeholder:"NAMES"`
	Record          string `help:"File to which every decision of the rules is added, for dogwood rules diff with \"--traffic\". It will hold data of users." type:"path" placeholder:"FILE"`

	found bool // Rules is a file of the working directory, and not from the command line

	loaded *atomic.Pointer[project.RulesSet] // nil if no file was given

	sampleRules map[string]*rules.Ruleset // by namespace, where the files have none
}

func (f *rulesFlags) rulesOptions() (versions.Options, error) {
	o, err := versions.ParseOptions(f.RulesDialect, f.RulesExtensions)
	if err != nil { // of the dialects, kong takes those that there are
		return o, fmt.Errorf("--rules-extensions: %w", err)
	}
	return o, nil
}

// ruleset reads the rules, nil if no file was given.
func (f *rulesFlags) ruleset() (*rules.Ruleset, error) {
	if f.Rules == "" {
		return nil, nil
	}
	if _, err := f.rulesOptions(); err != nil {
		return nil, err
	}
	s, err := f.load()
	var wrong *project.RulesError
	switch {
	case errors.As(err, &wrong), err != nil && f.found:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("--rules: %w", err)
	}
	return s.All, nil
}

// load reads the files and keeps what they say, or which they are if they can't
// be used.
func (f *rulesFlags) load() (*project.RulesSet, error) {
	o, err := f.rulesOptions()
	if err != nil {
		return nil, err
	}
	s, err := project.LoadRules(f.Rules, o)
	if err != nil {
		return s, err
	}
	if f.loaded == nil {
		f.loaded = new(atomic.Pointer[project.RulesSet])
	}
	f.loaded.Store(s)
	return s, nil
}

// configure sets the options of a server. The caller calls end when the server has ended.
func (f *rulesFlags) configure(o *server.Options) (end func() error, err error) {
	if o.RulesOptions, err = f.rulesOptions(); err != nil {
		return nil, err
	}
	if loaded := f.loaded; loaded != nil {
		o.Rules, o.RulesOf = loaded.Load().All, loaded.Load().Of
		o.Decisions.RulesName = func(r *rules.Ruleset) string { return loaded.Load().Name(r) }
	}
	o.RulesOf = f.withSample(o.RulesOf)
	if f.Record == "" {
		return func() error { return nil }, nil
	}
	o.Decisions.Record, err = observe.OpenRecorder(f.Record)
	if store.NoRoom(err) {
		o.Log.Error(durable.NoRoomFor("recording", err)+": none is made", "err", err)
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return o.Decisions.Record.Close, nil
}

// rulesPeriod is how often rules files are looked at.
const rulesPeriod = 300 * time.Millisecond

// watchRules puts rules in force when their files change, until ctx ends. Files
// that can't be used leave the rules as they are.
func (f *rulesFlags) watchRules(ctx context.Context, s *server.Server, w io.Writer) {
	set := f.loaded.Load()
	ticks := time.NewTicker(rulesPeriod)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		if set.Unchanged() {
			continue
		}
		next, err := f.load()
		if err == nil {
			err = s.SetDefaultRules(ctx, next.All, f.withSample(next.Of))
		}
		set = next
		if err != nil {
			fmt.Fprintf(w, "\n%v\nrules not reloaded: those before stay in force\n", err)
			continue
		}
		fmt.Fprintf(w, "\nrules reloaded: %s\n%s", f.Rules, keptRules(s, next))
	}
}

// keptRules says which open databases keep the rules that were uploaded to them, although the
// files have rules for them.
func keptRules(s *server.Server, next *project.RulesSet) string {
	given, err := s.GivenRules()
	if err != nil {
		return fmt.Sprintf("%v\n", err)
	}
	var text strings.Builder
	for _, ns := range slices.Sorted(maps.Keys(given)) {
		if next.All != nil || next.Of[ns] != nil {
			fmt.Fprintf(&text, "%s keeps version %d, which was deployed: deploy the rules again to change it\n", ns, given[ns])
		}
	}
	return text.String()
}

// firstNamed is the first database that the files have rules for, "" if they are for all
// databases.
func (f *rulesFlags) firstNamed() string {
	if f.loaded == nil || f.loaded.Load().All != nil || len(f.loaded.Load().Named) == 0 {
		return ""
	}
	return f.loaded.Load().Named[0]
}

// named says for which databases a development server has rules, "" for all.
func (f *rulesFlags) named() string {
	if f.firstNamed() == "" {
		return ""
	}
	return "\n             for " + strings.Join(f.loaded.Load().Named, ", ") + "; all others are open"
}

// withSample adds the rules of the sample to those by namespace that files gave.
func (f *rulesFlags) withSample(of map[string]*rules.Ruleset) map[string]*rules.Ruleset {
	all := maps.Clone(f.sampleRules)
	if all == nil {
		return of
	}
	maps.Copy(all, of)
	return all
}

// reloadRules puts the rules of the files in force, in databases that were given none.
func (f *rulesFlags) reloadRules(ctx context.Context, s *server.Server) error {
	next, err := f.load()
	if err != nil {
		return err
	}
	return s.SetDefaultRules(ctx, next.All, f.withSample(next.Of))
}
