package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/dogwooddb/dogwood/"

// layers says which packages of this module each package may import. Imports
// point down only. A package that is not here is not planned.
var layers = map[string][]string{
	"limit":                            {},
	"internal/fifo":                    {},
	"internal/processors":              {},
	"internal/tier":                    {}, // imported by tests only
	"internal/leaktest":                {},
	"internal/testrun":                 {},
	"internal/notices":                 {},
	"internal/sitezip":                 {},
	"sync/wire":                        {"tree/jsontext", "tree/piecewise"},
	"tree":                             {"tree/jsontext", "tree/piecewise"},
	"tree/jsontext":                    {"tree/piecewise"},
	"tree/piecewise":                   {},
	"tree/store":                       {"tree", "tree/piecewise", "tree/store/dedup", "tree/store/entry", "tree/store/kept", "tree/store/durable", "tree/store/kv", "tree/store/logdir", "tree/store/logged", "tree/store/used"},
	"tree/store/logdir":                {"tree/store/logged", "tree/store/wal"},
	"tree/store/entry":                 {"tree", "tree/jsontext", "tree/piecewise"},
	"tree/store/dedup":                 {"tree/store/kv"},
	"tree/store/kept":                  {"tree", "tree/store/entry", "tree/store/kv"},
	"tree/store/used":                  {},
	"tree/store/kv":                    {"tree/store/durable"},
	"tree/store/logged":                {"tree/store/durable", "tree/store/entry", "tree/store/internal/disk", "tree/store/kv", "tree/store/wal"},
	"tree/store/wal":                   {"tree/store/internal/disk"},
	"tree/store/internal/disk":         {"tree/store/durable"},
	"tree/store/durable":               {},
	"tree/store/dirlock":               {"tree/store/durable"},
	"tree/invariant":                   {"tree"},
	"internal/invarianttest":           {"tree", "tree/invariant"},
	"internal/modelform":               {"tree"},
	"internal/disktest":                {},
	"rules":                            {"tree", "rules/jsonc", "rules/lang", "rules/internal/eval", "rules/internal/snapshot"},
	"rules/internal/eval":              {"tree", "rules/lang", "rules/internal/snapshot"},
	"rules/internal/snapshot":          {"tree", "rules/lang"},
	"rules/expression":                 {"tree", "rules/lang", "rules/internal/eval", "rules/internal/snapshot"},
	"derive":                           {"tree", "rules/expression", "rules/jsonc", "rules/lang"},
	"rules/lang":                       {},
	"internal/langtest":                {"rules/lang"},
	"rules/jsonc":                      {"tree/jsontext"},
	"rules/explain":                    {"rules", "rules/lang", "tree"},
	"rules/coverage":                   {"rules"},
	"rules/rulesfmt":                   {"rules/jsonc", "rules/lang"},
	"rules/ruleslint":                  {"rules", "rules/jsonc", "rules/lang", "rules/rulesgen", "rules/rulestest", "tree"},
	"rules/rulesgen":                   {"rules", "rules/jsonc", "rules/lang", "rules/rulestest", "tree"},
	"rules/rulesdiff":                  {"rules", "rules/rulesgen", "rules/rulestest", "tree"},
	"rules/rulesmutate":                {"rules", "rules/jsonc", "rules/lang", "rules/rulesgen", "rules/rulestest", "tree"},
	"sync/query":                       {"rules/expression", "sync/fault", "tree"},
	"rules/rulestest":                  {"derive", "rules", "rules/lang", "rules/jsonc", "rules/explain", "tree", "tree/invariant"},
	"sync":                             {"derive", "sync/declared", "sync/echo", "sync/query", "limit", "tree", "tree/store", "rules", "sync/wire", "sync/histogram", "sync/outbox", "sync/queue", "internal/fifo", "sync/access", "sync/audience", "sync/damage", "sync/explained", "sync/fault", "sync/fingerprint", "sync/pending", "sync/pieces", "sync/quota", "sync/resume", "sync/trace", "sync/versions", "sync/watch", "tree/piecewise", "tree/store/entry", "tree/store/durable"},
	"sync/access":                      {"rules", "sync/fault", "sync/quota", "tree"},
	"sync/audience":                    {"limit", "rules", "rules/expression", "sync/access", "sync/fault", "sync/interval", "sync/outbox", "sync/queue", "sync/quota", "sync/resume", "sync/trace", "sync/trie", "sync/watch", "sync/wire", "tree", "tree/store"},
	"sync/damage":                      {},
	"sync/declared":                    {"derive", "sync/versions", "sync/watch", "tree", "tree/store", "tree/store/kept"},
	"sync/explained":                   {"rules", "sync/wire", "tree", "tree/store"},
	"sync/fault":                       {"rules", "sync/wire", "tree", "tree/store"},
	"sync/fingerprint":                 {"rules", "sync/fault", "sync/trie", "tree", "tree/store"},
	"sync/pending":                     {"rules", "sync/access", "sync/fault", "sync/wire", "tree", "tree/store"},
	"sync/pieces":                      {"tree", "tree/store/entry"},
	"sync/quota":                       {"limit", "sync/query", "tree"},
	"sync/trace":                       {"tree"},
	"sync/versions":                    {"derive", "rules", "rules/lang", "tree/store"},
	"sync/replay":                      {"derive", "rules", "sync/declared", "sync/versions", "tree", "tree/store", "tree/store/entry"},
	"sync/watch":                       {"tree"},
	"sync/resume":                      {"tree", "tree/store/entry"},
	"sync/outbox":                      {"internal/fifo", "internal/processors", "limit", "sync/resume", "sync/wire", "tree", "tree/piecewise"},
	"sync/interval":                    {},
	"sync/trie":                        {"tree"},
	"sync/echo":                        {},
	"sync/queue":                       {"internal/fifo"},
	"sdk-go":                           {"tree", "sync/wire", "sdk-go/internal/replica"},
	"sdk-go/embed":                     {"derive", "sdk-go", "sync", "sync/versions", "sync/outbox", "sync/wire", "rules", "tree", "tree/store/dirlock", "tree/store/durable", "sync/fault"},
	"sdk-go/internal/replica":          {"tree"},
	"sdk-go/models/chat":               {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/org":                {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/msgy":               {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/social":             {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/ownerstorage":       {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/im":                 {"sdk-go", "sdk-go/models/internal/record"},
	"sdk-go/models/internal/record":    {"sdk-go"},
	"sdk-go/models/internal/modeltest": {"sdk-go", "sdk-go/embed", "server/servertest"},
	"server":                           {"derive", "sync/declared", "sync/echo", "sync/query", "limit", "tree", "rules", "rules/coverage", "rules/explain", "sync", "sync/outbox", "sync/histogram", "sync/wire", "server/auth", "server/bookmark", "server/dropped", "server/front", "server/metrics", "server/observe", "server/peer", "server/profiles", "server/realtime", "server/space", "server/telemetry", "tree/piecewise", "tree/store", "tree/store/dirlock", "tree/store/durable", "tree/store/logged", "sync/fault", "sync/versions"},
	"demo":                             {"rules", "rules/explain"},
	"server/observe":                   {"rules", "rules/explain", "server/auth", "server/metrics", "sync", "sync/declared", "sync/outbox", "sync/histogram", "tree", "sync/fault", "sync/trace"},
	"server/peer":                      {"limit", "server/metrics", "sync/outbox", "sync/fault", "sync/quota"},
	"server/profiles":                  {},
	"server/realtime":                  {"limit", "server/auth", "server/metrics", "server/observe", "server/peer", "server/realtime/parking", "sync", "sync/outbox", "sync/wire", "tree/piecewise", "internal/fifo", "internal/processors", "sync/fault"},
	"server/realtime/parking":          {},
	"server/bookmark":                  {},
	"server/dropped":                   {"tree/store", "tree/store/durable", "tree/store/logged"},
	"server/telemetry":                 {"sync/trace"},
	"server/front":                     {},
	"server/space":                     {"tree/store/durable"},
	"server/certs":                     {"tree/store/durable"},
	"server/auth":                      {"tree/store/dirlock", "tree/store/durable"},
	"server/metrics":                   {"server/space", "sync", "sync/declared", "sync/histogram", "tree/store", "sync/fault"},
	"sync/histogram":                   {},
	"internal/house":                   {},
	"server/servertest/faultproxy":     {},
	"server/consistency":               {},
	"server/servertest":                {"server", "server/auth", "sync", "sync/wire", "rules", "tree/store", "tree"},
	"cmd/dogwood":                      {"cmd/dogwood/internal/benchcmd", "cmd/dogwood/internal/build", "cmd/dogwood/internal/bulk", "cmd/dogwood/internal/client", "cmd/dogwood/internal/config", "cmd/dogwood/internal/console", "cmd/dogwood/internal/credentials", "cmd/dogwood/internal/datacmd", "cmd/dogwood/internal/docsite", "cmd/dogwood/internal/manual", "cmd/dogwood/internal/project", "cmd/dogwood/internal/pull", "cmd/dogwood/internal/remote", "cmd/dogwood/internal/rulecmd", "cmd/dogwood/internal/servers", "cmd/dogwood/internal/shell", "cmd/dogwood/internal/starter"},
	"cmd/dogwood/internal/benchcmd":    {"bench", "bench/bare", "bench/isolation", "bench/redis", "bench/soak", "cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir"},
	"cmd/dogwood/internal/build":       {"cmd/dogwood/internal/console"},
	"cmd/dogwood/internal/bulk":        {"cmd/dogwood/internal/build", "cmd/dogwood/internal/checks", "cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "sync/declared", "tree", "tree/store", "tree/store/dirlock", "tree/store/durable", "tree/store/logdir"},
	"cmd/dogwood/internal/checks":      {"sync/declared", "sync/versions", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "tree/invariant", "tree/store"},
	"cmd/dogwood/internal/client":      {"cmd/dogwood/internal/build", "cmd/dogwood/internal/console", "cmd/dogwood/internal/profile", "tree"},
	"cmd/dogwood/internal/config":      {"rules/lang"},
	"cmd/dogwood/internal/console":     {"rules/explain"},
	"cmd/dogwood/internal/credentials": {"cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "cmd/dogwood/internal/profile", "server/auth", "tree/store/durable"},
	"cmd/dogwood/internal/datacmd":     {"cmd/dogwood/internal/checks", "cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/project", "cmd/dogwood/internal/versioned", "derive", "rules", "rules/explain", "sync/explained", "tree/invariant"},
	"cmd/dogwood/internal/datadir":     {"cmd/dogwood/internal/console", "server", "server/auth", "tree/store", "tree/store/dirlock", "tree/store/durable"},
	"cmd/dogwood/internal/docsite":     {"cmd/dogwood/internal/console"},
	"cmd/dogwood/internal/manual":      {"cmd/dogwood/internal/build", "cmd/dogwood/internal/console"},
	"cmd/dogwood/internal/memory":      {},
	"cmd/dogwood/internal/profile":     {"tree/store/dirlock", "tree/store/durable"},
	"cmd/dogwood/internal/project":     {"derive", "rules", "rules/explain", "rules/jsonc", "sync/versions"},
	"cmd/dogwood/internal/pull":        {"cmd/dogwood/internal/bulk", "cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "tree"},
	"cmd/dogwood/internal/remote":      {"cmd/dogwood/internal/build", "cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "cmd/dogwood/internal/profile", "server", "server/observe", "tree", "sync/explained"},
	"cmd/dogwood/internal/rulecmd":     {"cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/project", "cmd/dogwood/internal/versioned", "derive", "rules", "rules/coverage", "rules/explain", "rules/jsonc", "rules/rulesdiff", "rules/rulesfmt", "rules/ruleslint", "rules/rulesmutate", "rules/rulestest", "tree", "tree/store/durable"},
	"cmd/dogwood/internal/servers":     {"cmd/dogwood/internal/build", "cmd/dogwood/internal/bulk", "cmd/dogwood/internal/checks", "cmd/dogwood/internal/client", "cmd/dogwood/internal/config", "cmd/dogwood/internal/console", "cmd/dogwood/internal/datadir", "cmd/dogwood/internal/memory", "cmd/dogwood/internal/project", "demo", "internal/processors", "rules", "server", "server/auth", "server/certs", "server/observe", "server/space", "server/telemetry", "tree", "tree/store", "tree/store/dirlock", "tree/store/durable", "sync/declared", "sync/versions"},
	"cmd/dogwood/internal/shell":       {"cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/remote", "tree"},
	"cmd/dogwood/internal/starter":     {"cmd/dogwood/internal/console", "tree/store/durable"},
	"cmd/dogwood/internal/versioned":   {"cmd/dogwood/internal/client", "cmd/dogwood/internal/console", "cmd/dogwood/internal/project", "rules", "sync/versions"},
	"bench":                            {"bench/connect", "sync/wire"},
	"bench/bare":                       {},
	"bench/child":                      {},
	"bench/connect":                    {"sync/wire"},
	"bench/connect/connecttest":        {},
	"bench/isolation":                  {"bench", "bench/child", "bench/connect", "sync/wire"},
	"bench/redis":                      {"bench", "bench/connect"},
	"bench/soak":                       {"bench", "bench/connect", "sync/wire"},
}

func TestImports(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := layers[name]
		if !known {
			t.Errorf("package %s is not in the table of layers; it imports %s", name, strings.Join(within(p.Imports), ", "))
			continue
		}
		for _, imported := range within(p.Imports) {
			if !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s; of this module it may import %q", name, imported, allowed)
			}
		}
	}
}

// TestLayersPointDown checks the table itself: packages that a package may import,
// directly or not, may not import that package.
func TestLayersPointDown(t *testing.T) {
	var below func(name string, path []string)
	below = func(name string, path []string) {
		if slices.Contains(path, name) {
			t.Fatalf("the table of layers allows a cycle: %s", strings.Join(append(path, name), " → "))
		}
		for _, imported := range layers[name] {
			below(imported, append(path, name))
		}
	}
	for name := range layers {
		below(name, nil)
	}
}

type listedPackage struct {
	ImportPath, Name string
	Imports          []string
}

// listPackages returns the packages of this module, without what npm brings.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		text := ""
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			text = string(e.Stderr)
		}
		t.Fatalf("go list: %v\n%s", err, text)
	}
	var list []listedPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		switch err := d.Decode(&p); {
		case err == io.EOF && len(list) > 0:
			return list
		case err != nil:
			t.Fatalf("output of go list: %v", err)
		}
		if !strings.Contains(p.ImportPath, "node_modules") {
			list = append(list, p)
		}
	}
}

// within returns the imports that belong to this module, by their short names.
func within(imports []string) []string {
	var list []string
	for _, path := range imports {
		if name, ok := strings.CutPrefix(path, module); ok {
			list = append(list, name)
		}
	}
	return list
}
