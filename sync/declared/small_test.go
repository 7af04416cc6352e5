package declared_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/declared"
)

// TestSmallDefinitionsFirst: definitions that have little to look at do not wait for larger ones, nor for
// rows that are to be deleted, unless they may follow from these.
func TestSmallDefinitionsFirst(t *testing.T) {
	const large = `"large": {"map": "/tagged/$i", "to": "/copies/$i"}`
	o := openOffline(t)
	o.set(`tagged `+numbered(2000, func(i int) string { return fmt.Sprint(i) }), `few {"a": "x", "b": "y"}`, `lists/l {"a": 1, "b": 2, "c": 3}`,
		`long/l `+numbered(900, func(i int) string { return "1" }))
	o.deploy(`"old": {"expire": "/tagged/$i", "after": "1h"}`)
	o.work()
	o.deploy(large + `,
		"follows": {"count": "/copies/$i", "to": "/copied"},
		"none":    {"count": "/nothing/$i", "to": "/count"},
		"names":   {"map": "/few/$i", "to": "/names/{data.val()}", "value": "= $i", "unique": true},
		"list":    {"keep": 2, "at": "/lists/$l"},
		"longer":  {"keep": 2, "at": "/long/$l"}`)
	cost := 0
	for ready := 0; ready < 3; {
		cost += o.step().Cost
		ready = 0
		list, err := o.data.Status(o.tx, time.UnixMilli(1000))
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range list {
			small := i == 2 || i == 3 || i == 4
			if s.State == declared.Ready {
				ready++
			}
			if !small && (s.State == declared.Ready || s.Nodes > 0) {
				t.Fatalf("%s was worked on: %+v", s.Name, s)
			}
		}
	}
	if cost > 100 {
		t.Errorf("the small ones cost %d", cost)
	}
	o.want("names", `{"x":"a","y":"b"}`)
	o.want("lists/l", `{"b":2,"c":3}`)
	o.work()
	o.want("copied", "2000")

	o.control("large", declared.Rebuild)
	o.control("names", declared.Rebuild)
	for range 3 {
		o.step()
	}
	list, err := o.data.Status(o.tx, time.UnixMilli(1000))
	if err != nil || list[3].State != declared.Ready || list[0].State == declared.Ready {
		t.Errorf("%+v, %v", list, err)
	}
	o.work()
}
