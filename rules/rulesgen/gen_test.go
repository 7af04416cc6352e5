package rulesgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

func words(t *testing.T) *Words {
	t.Helper()
	rs, err := rules.Parse(`{"rules": {"rooms": {"$r": {
		".read": "auth.token.boss == true || query.orderByChild == 'type' || query.limitToFirst <= 10",
		"name": {".validate": "newData.hasChildren(['b', 'a']) && newData.val().length <= 3"}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	return NewWords(rs)
}

func TestWords(t *testing.T) {
	w := words(t)
	if got, want := w.Nodes(), []string{"", "/rooms", "/rooms/$r", "/rooms/$r/name"}; !slices.Equal(got, want) {
		t.Errorf("nodes %q, want %q", got, want)
	}
	var actors []string
	for _, a := range w.Actors() {
		actors = append(actors, a.JSON())
	}
	if want := `{"uid":"somebody","token":{"boss":true}}`; !slices.Contains(actors, want) {
		t.Errorf("actors %q lack %s", actors, want)
	}
	var ops []string
	world := rulestest.World{Root: tree.MustParseNode(`{"rooms":{"r1":{"name":"x"}}}`)}
	for _, op := range w.Operations("/rooms/$r/name", world, 5) {
		ops = append(ops, op.String()+" "+op.Value+rulestest.QueryText(&op))
	}
	for _, want := range []string{
		`read /rooms/r1/name `,
		`read /rooms/r1/name {"limitToFirst":10,"orderByKey":true}`,
		`read /rooms/somebody/name {"equalTo":"somebody","orderByChild":"type"}`,
		`write /rooms/r1/name null`,
		`write /rooms/r1/name {"a":"text","b":"text"}`,
		`write /rooms/type/name 4`,
	} {
		if !slices.Contains(ops, want) {
			t.Errorf("no %q among %d operations:\n%s", want, len(ops), strings.Join(ops, "\n"))
		}
	}
}

// TestVary makes many variations: each can be asked, all kinds of changes occur,
// and the same seed makes the same ones.
func TestVary(t *testing.T) {
	world := rulestest.World{Root: tree.MustParseNode(`{"rooms":{"r1":{"name":"x","at":1700000000000}}}`)}
	var bases []rulestest.Op
	for _, text := range []rulestest.OpText{
		{Kind: "read", Path: "/rooms/r1"},
		{Kind: "read", Path: "/rooms", Query: `{"orderByChild":"type","limitToLast":2}`},
		{Kind: "write", Path: "/rooms/r1", Value: `{"name":"y","at":{".sv":"timestamp"}}`},
		{Kind: "update", Path: "/", Value: `{"rooms/r1/name":"z","rooms/r2":{"name":"n"}}`},
	} {
		op, err := text.Parse()
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, op)
	}
	make := func(seed uint64) (list []string) {
		w := words(t)
		actors := w.Actors()
		v := NewVarier(w, world, actors, seed)
		for i := range 2000 {
			op, ok := v.Vary(bases[i%len(bases)], actors)
			if !ok {
				continue
			}
			_, _ = op.Request(world) // increments may overflow; nothing may panic
			list = append(list, fmt.Sprintf("%s %s%s %s", op.String(), op.Value, rulestest.QueryText(&op), op.Who.JSON()))
			if s, ok := v.Setup(world, op.Path); ok {
				if _, err := world.Stage(&s); err != nil {
					t.Errorf("setup %s %s: %v", s.String(), s.Value, err)
				}
			}
		}
		return list
	}
	list := make(1)
	if !slices.Equal(list, make(1)) {
		t.Error("the same seed makes other variations")
	}
	if slices.Equal(list, make(2)) {
		t.Error("another seed makes the same variations")
	}
	all := strings.Join(list, "\n")
	for _, want := range []string{"null", `"name":"y"`, "equalTo", "limitToFirst", "update /", "write /rooms/r1/name", "write /rooms/r2", `{"uid":"somebody"`, "xxxx"} {
		if !strings.Contains(all, want) {
			t.Errorf("no variation has %s", want)
		}
	}
}
