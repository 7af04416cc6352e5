package packaging

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A board is the dashboard, with all fields that it has: Grafana ignores what it does not know,
// so a name that is wrong has no effect.
type board struct {
	Title, UID, Description, Refresh, Timezone string
	Tags                                       []string
	SchemaVersion, Version, GraphTooltip       int
	Editable                                   bool
	Time                                       struct{ From, To string }
	Annotations                                struct{ List []struct{} }
	Templating                                 struct{ List []boardVariable }
	Panels                                     []panel
}

type dataSource struct{ Type, UID string }

type boardVariable struct {
	Name, Label, Type, Definition string
	Datasource                    dataSource
	Query                         any
	IncludeAll, Multi             bool
	Current                       struct{ Text, Value []string }
	Refresh, Sort                 int
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Collapsed                bool
	Panels                   []struct{} // of a row that is collapsed
	GridPos                  struct{ H, W, X, Y int }
	Datasource               dataSource
	FieldConfig              struct {
		Defaults struct {
			Unit string
			Min  *float64
		}
		Overrides []struct{}
	}
	Options struct {
		ReduceOptions struct {
			Calcs  []string
			Fields string
			Values bool
		}
		Legend struct {
			DisplayMode, Placement string
			ShowLegend             bool
		}
		Tooltip struct{ Mode, Sort string }
	}
	Targets []struct {
		RefID, Expr, LegendFormat string
		Datasource                dataSource
	}
}

// units are those of Grafana for counts, parts, data, rates and times.
var units = strings.Fields(`none short percent percentunit bytes decbytes bits decbits
	pps Bps binBps bps binbps ns µs ms s m h d dtdurations dtdurationms dateTimeAsIso
	cps ops reqps rps wps iops eps mps cpm opm rpm wpm`)

func readBoard(t *testing.T) (b board) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, monitoring+"dashboard.json")))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDashboard: the dashboard is what Grafana expects of one, as far as that can be said
// without Grafana.
func TestDashboard(t *testing.T) {
	b := readBoard(t)
	if b.Title == "" || !regexp.MustCompile(`^[\w-]{1,40}$`).MatchString(b.UID) || b.SchemaVersion < 36 || b.GraphTooltip < 0 || b.GraphTooltip > 2 || len(b.Panels) < 20 {
		t.Errorf("title %q, uid %q, schema %d, tooltip %d, %d panels", b.Title, b.UID, b.SchemaVersion, b.GraphTooltip, len(b.Panels))
	}
	ids := make(map[int]string)
	for i, p := range b.Panels {
		if other, twice := ids[p.ID]; twice || p.ID < 1 {
			t.Errorf("panel %q has the id %d, as has %q", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		g := p.GridPos
		if g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("panel %q is at %+v, and there are 24 columns", p.Title, g)
		}
		for _, other := range b.Panels[:i] {
			if o := other.GridPos; g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H {
				t.Errorf("panels %q and %q overlap", p.Title, other.Title)
			}
		}
		checkPanel(t, p)
	}
	checkVariables(t, b)
}

func checkPanel(t *testing.T, p panel) {
	t.Helper()
	if p.Title == "" {
		t.Errorf("panel %d has no title", p.ID)
	}
	good := func(what, value string, of ...string) {
		if !slices.Contains(of, value) {
			t.Errorf("panel %q: %s is %q, not one of %q", p.Title, what, value, of)
		}
	}
	o := p.Options
	switch p.Type {
	case "row":
		if p.GridPos.W != 24 || p.GridPos.H != 1 || len(p.Targets) > 0 || p.Collapsed {
			t.Errorf("row %q is %+v, with %d queries", p.Title, p.GridPos, len(p.Targets))
		}
		return
	case "stat":
		if len(o.ReduceOptions.Calcs) != 1 {
			t.Errorf("panel %q shows %q", p.Title, o.ReduceOptions.Calcs)
		}
		for _, calc := range o.ReduceOptions.Calcs {
			good("calculation", calc, "lastNotNull", "last", "mean", "max", "min", "sum")
		}
	case "timeseries":
		good("legend", o.Legend.DisplayMode, "list", "table", "hidden")
		good("place of the legend", o.Legend.Placement, "bottom", "right")
		good("tooltip", o.Tooltip.Mode, "single", "multi", "none")
		good("order of the tooltip", o.Tooltip.Sort, "none", "asc", "desc")
	default:
		t.Errorf("panel %q is a %q", p.Title, p.Type)
	}
	good("unit", p.FieldConfig.Defaults.Unit, units...)
	want := dataSource{"prometheus", "${datasource}"}
	refs := make(map[string]bool)
	for _, q := range p.Targets {
		if p.Datasource != want || q.Datasource != want {
			t.Errorf("panel %q asks %v and %v, not the chosen data source", p.Title, p.Datasource, q.Datasource)
		}
		if q.RefID == "" || refs[q.RefID] || q.LegendFormat == "" {
			t.Errorf("panel %q: query %q is there twice, or has no legend", p.Title, q.RefID)
		}
		refs[q.RefID] = true
		if !strings.Contains(q.Expr, `instance=~"$instance"`) {
			t.Errorf("panel %q shows all servers, not the chosen: %s", p.Title, q.Expr)
		}
		if strings.Contains(q.Expr, "[") != strings.Contains(q.Expr, "[$__rate_interval]") {
			t.Errorf("panel %q has a range of its own: %s", p.Title, q.Expr)
		}
	}
	if len(p.Targets) == 0 {
		t.Errorf("panel %q shows nothing", p.Title)
	}
}

// checkVariables: each variable is known and used.
func checkVariables(t *testing.T, b board) {
	t.Helper()
	known := make(map[string]bool)
	for _, v := range b.Templating.List {
		if known[v.Name] {
			t.Errorf("variable %s is there twice", v.Name)
		}
		known[v.Name] = true
		switch v.Type {
		case "datasource":
			if v.Query != "prometheus" {
				t.Errorf("variable %s is for %v", v.Name, v.Query)
			}
		case "query":
			query, _ := v.Query.(map[string]any)
			if v.Definition == "" || query["query"] != v.Definition || query["refId"] == "" || v.Datasource != (dataSource{"prometheus", "${datasource}"}) || v.Refresh < 1 || v.Refresh > 2 || v.Sort < 0 || v.Sort > 8 {
				t.Errorf("variable %s: %+v", v.Name, v)
			}
		default:
			t.Errorf("variable %s is a %q", v.Name, v.Type)
		}
	}
	used := make(map[string]bool)
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(read(t, monitoring+"dashboard.json"), -1) {
		if used[m[1]] = true; !known[m[1]] && !strings.HasPrefix(m[1], "__") {
			t.Errorf("there is no variable %s", m[1])
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("variable %s is not used", name)
		}
	}
}
