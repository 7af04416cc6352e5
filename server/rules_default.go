package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// SetDefaultRules replaces Options.Rules and Options.RulesOf: the rules of
// databases that were given none by an upload. It holds for open databases, whose
// listens are decided again, and for those that will be opened.
func (s *Server) SetDefaultRules(ctx context.Context, all *rules.Ruleset, of map[string]*rules.Ruleset) error {
	if all == nil {
		all = standardRules(s.opts.Dev)
	}
	return s.spaces.setDefaultRules(ctx, all, of)
}

// GivenRules returns the names of the open databases that were given rules by an
// upload, to which default rules do not apply.
func (s *Server) GivenRules() (names []string, err error) {
	for _, ns := range s.spaces.all() {
		db := ns.db.Load()
		if db == nil {
			continue
		}
		list, err := db.RulesHistory()
		if err != nil {
			return nil, fmt.Errorf("rules of %s: %w", ns.name, err)
		}
		if len(list) > 0 {
			names = append(names, ns.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// standardRules are the rules of a server that was given none.
func standardRules(dev bool) *rules.Ruleset {
	if dev {
		return rules.Open()
	}
	return rules.Locked()
}

func (n *namespaces) setDefaultRules(ctx context.Context, all *rules.Ruleset, of map[string]*rules.Ruleset) error {
	n.mu.Lock()
	n.opts.Rules, n.opts.RulesOf = all, of
	n.mu.Unlock()
	var errs []error
	for _, ns := range n.all() {
		if err := n.renewRules(ctx, ns); err != nil && !errors.Is(err, dsync.ErrClosed) {
			errs = append(errs, fmt.Errorf("rules of %s: %w", ns.name, err))
		}
	}
	return errors.Join(errs...)
}

func (n *namespaces) all() []*namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.known))
}

// renewRules tells a namespace's database its default rules. A database that is
// being opened may have begun with those before, so it is waited for.
func (n *namespaces) renewRules(ctx context.Context, ns *namespace) error {
	ns.mu.Lock()
	db := ns.db.Load()
	ns.mu.Unlock()
	if db == nil {
		return nil
	}
	return db.SetDefaultRules(ctx, n.defaultRules(ns.name))
}

// defaultRules returns the rules of a namespace that was given none.
func (n *namespaces) defaultRules(name string) *rules.Ruleset {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.opts.RulesOf[name]; r != nil {
		return r
	}
	return n.opts.Rules
}
