package sync

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// revokeRules are the documents that TestRevokeModel changes between, each with
// what it means: whether a user, "" for nobody, may follow a room.
var revokeRules = []struct {
	src  string
	want func(s *revokeState, uid, room string) bool
}{
	{
		`"$r":{".read":"root.child('members/'+$r+'/'+auth.uid).val() == true || root.child('open').val() == true"}`,
		func(s *revokeState, uid, room string) bool {
			// Of a signed-out caller the path is an error, which || does not rescue.
			return uid != "" && (s.members[room+"/"+uid] || s.open)
		},
	},
	{
		`".read":"root.child('open').val() == true","$r":{".read":"auth != null && data.parent().parent().child('members').child($r).hasChild(auth.uid)"}`,
		func(s *revokeState, uid, room string) bool {
			return s.open || uid != "" && s.members[room+"/"+uid]
		},
	},
	{
		`"$r":{".read":"data.child('public').val() == true || auth.uid == 'ana'"}`,
		func(s *revokeState, uid, room string) bool { return s.public[room] || uid == "ana" },
	},
	{
		`"$r":{".read":"auth != null"}`,
		func(s *revokeState, uid, room string) bool { return uid != "" },
	},
}

// A revokeState is what the rules of the test depend on.
type revokeState struct {
	rules   int
	open    bool
	members map[string]bool // "room/uid"
	public  map[string]bool // room
}

func (s *revokeState) clone() *revokeState {
	c := &revokeState{s.rules, s.open, map[string]bool{}, map[string]bool{}}
	for k, v := range s.members {
		c.members[k] = v
	}
	for k, v := range s.public {
		c.public[k] = v
	}
	return c
}

func (s *revokeState) allows(uid, room string) bool {
	return revokeRules[s.rules].want(s, uid, room)
}

// A revokeView is one listen as the test expects it to be.
type revokeView struct {
	room  string
	ended int  // number of the operation that revoked it; 0: none
	again bool // it is allowed again: it may have ended or not
	seen  int  // greatest number that was received
}

type revokeClient struct {
	*client
	uid   string
	views map[string]*revokeView
}

// revokeTest plays random operations whose effects it knows. Every operation has
// a number, which the data it writes contain.
type revokeTest struct {
	*testing.T
	rnd     *rand.Rand
	db      *Database
	log     *faultyLog
	sets    []*rules.Ruleset
	writer  *client
	clients []*revokeClient
	state   *revokeState
	last    map[string]int // number of the last write to a room's data
	number  int
	slices  bool            // grants are decided after the batch that touched them
	waiting []chan struct{} // for changes of the rules
}

var (
	revokeRooms = []string{"r1", "r2", "r3"}
	revokeUsers = []string{"", "ana", "ben", "cleo"}
)

// TestRevokeModel: a listener is revoked by the first operation after which the
// rules refuse it, and by no other; it gets nothing that is committed from then
// on, in the same batch or later. Those that stay miss nothing. If grants are decided in
// slices, the same is true, but for one that is allowed again before it is decided: it may
// stay.
func TestRevokeModel(t *testing.T) {
	t.Run("at once", func(t *testing.T) { revokeModel(t, audience.ReviewAtOnce, 1000) })
	t.Run("in slices", func(t *testing.T) { revokeModel(t, 0, 1000) })
	t.Run("swept", func(t *testing.T) { revokeModel(t, 0, 0) })
}

func revokeModel(t *testing.T, atOnce, below int) {
	rounds := tier.Count("DOGWOOD_MODEL_STEPS", 1500, 4_000, 2_000_000) / 25
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := &revokeTest{T: t, rnd: rand.New(rand.NewPCG(seed, 1)), log: &faultyLog{}, last: map[string]int{}}
	for _, set := range revokeRules {
		r.sets = append(r.sets, parseRules(t, `{"rules":{"rooms":{`+set.src+`}}}`))
	}
	r.db = openTest(t, Options{Rules: r.sets[0], Change: r.log})
	r.db.audience.ReviewAtOnce, r.slices = atOnce, atOnce == 0
	r.db.audience.ReviewBelow = below
	r.state = (&revokeState{}).clone()
	r.writer = connect(t, r.db, "writer", 0)
	r.writer.send(`{"r":1,"a":"gauth","b":{"cred":"owner"}}`)
	for i := range 6 {
		c := &revokeClient{client: connect(t, r.db, fmt.Sprint("c", i), 64<<20), views: map[string]*revokeView{}}
		r.clients = append(r.clients, c)
	}
	for range rounds {
		for range r.rnd.IntN(3) {
			r.clientStep(r.clients[r.rnd.IntN(len(r.clients))])
		}
		r.batch()
		for _, c := range r.clients {
			r.check(c)
		}
		if t.Failed() {
			return
		}
	}
	for _, c := range r.clients {
		c.session.Close()
	}
	r.writer.session.Close()
	checkAudience(t, r.db)
}

// clientStep signs a client in or out, or begins or ends a listen.
func (r *revokeTest) clientStep(c *revokeClient) {
	room := revokeRooms[r.rnd.IntN(len(revokeRooms))]
	r.check(c) // what was on its way belongs to the listens as they were
	r.number++
	switch r.rnd.IntN(5) {
	case 0:
		c.uid = revokeUsers[r.rnd.IntN(len(revokeUsers))]
		if c.uid == "" {
			c.send(`{"r":0,"a":"unauth","b":{}}`)
		} else {
			c.send(fmt.Sprintf(`{"r":0,"a":"auth","b":{"cred":"user %s"}}`, c.uid))
		}
		r.reckon(c)
	case 1:
		c.send(fmt.Sprintf(`{"r":0,"a":"n","b":{"p":"/rooms/%s"}}`, room))
		delete(c.views, room)
	default:
		if c.views[room] != nil {
			return
		}
		c.send(fmt.Sprintf(`{"r":0,"a":"q","b":{"p":"/rooms/%s","h":""}}`, room))
		frames := c.frames()
		allowed := r.state.allows(c.uid, room)
		if ok := strings.Contains(frames[len(frames)-1], `"s":"ok"`); ok != allowed {
			r.Errorf("%s, signed in as %q, listens to %s: %v; state %+v", c.name, c.uid, room, frames, r.state)
		}
		if allowed {
			c.views[room] = &revokeView{room: room, seen: r.last[room]}
		}
	}
}

// reckon notes which views of a client the operation just made ends.
func (r *revokeTest) reckon(c *revokeClient) {
	for _, v := range c.views {
		if v.ended == 0 && !r.state.allows(c.uid, v.room) {
			v.ended = r.number
		}
	}
}

// batch makes several changes that are committed together, and now and then
// lets that fail.
func (r *revokeTest) batch() {
	before, last := r.state.clone(), map[string]int{}
	for k, v := range r.last {
		last[k] = v
	}
	ended := map[*revokeView]int{}
	for _, c := range r.clients {
		for _, v := range c.views {
			ended[v] = v.ended
		}
	}
	fail := r.rnd.IntN(8) == 0
	r.log.set(fail)
	g := closeGate(r.T, r.db)
	for range 1 + r.rnd.IntN(8) {
		r.number++
		r.change()
		for _, c := range r.clients {
			r.reckon(c)
		}
	}
	if fail { // a change of the rules alone needs no record, so it would not fail
		r.writer.send(fmt.Sprintf(`{"r":0,"a":"p","b":{"p":"/x","d":%d}}`, r.number))
	}
	close(g.open)
	r.writer.settle()
	for _, done := range r.waiting {
		<-done
	}
	r.waiting = nil
	r.writer.frames()
	r.log.set(false)
	allReviewed(r.T, r.db)
	if !fail {
		r.allowAgain()
		return
	}
	r.state, r.last = before, last
	for v, n := range ended {
		v.ended = n
	}
}

// allowAgain notes which views that were revoked in a batch are allowed at its end.
func (r *revokeTest) allowAgain() {
	for _, c := range r.clients {
		for _, v := range c.views {
			v.again = r.slices && v.ended != 0 && r.state.allows(c.uid, v.room)
		}
	}
}

// allReviewed waits until there are no stale grants.
func allReviewed(t testing.TB, db *Database) {
	t.Helper()
	for {
		g := closeGate(t, db) // holds the lock
		stale := db.audience.IsStale()
		close(g.open)
		if !stale {
			return
		}
	}
}

// change queues one random change and notes what it means.
func (r *revokeTest) change() {
	room := revokeRooms[r.rnd.IntN(len(revokeRooms))]
	uid := revokeUsers[1+r.rnd.IntN(len(revokeUsers)-1)]
	member := room + "/" + uid
	put := func(path, value string) {
		r.writer.send(fmt.Sprintf(`{"r":0,"a":"p","b":{"p":%q,"d":%s}}`, path, value))
	}
	data := fmt.Sprintf(`{"n":%d}`, r.number)
	switch k := r.rnd.IntN(12); k {
	case 0, 1, 2:
		r.state.members[member] = true
		put("/members/"+member, "true")
	case 3, 4:
		delete(r.state.members, member)
		put("/members/"+member, "null")
	case 5:
		for _, u := range revokeUsers {
			delete(r.state.members, room+"/"+u)
		}
		put("/members/"+room, "null")
	case 6:
		r.state.open = !r.state.open
		put("/open", strconv.FormatBool(r.state.open))
	case 7: // data and a right in one update
		delete(r.state.members, member)
		r.last[room] = r.number
		r.writer.send(fmt.Sprintf(`{"r":0,"a":"m","b":{"p":"/","d":{"rooms/%s/data":%s,"members/%s":null}}}`, room, data, member))
	case 8:
		r.state.public[room] = !r.state.public[room]
		r.last[room] = r.number
		put("/rooms/"+room, fmt.Sprintf(`{"data":%s,"public":%v}`, data, r.state.public[room]))
	case 9:
		if r.rnd.IntN(3) == 0 {
			r.state.rules = r.rnd.IntN(len(r.sets))
			t := &rulesTask{change: versions.Change{Rules: r.sets[r.state.rules]}}
			t.start()
			item := queue.Item[task]{Task: t, Line: &r.writer.session.line, Size: t.size()}
			if err := r.db.queue.Add(r.Context(), nil, item); err != nil {
				r.Fatal(err)
			}
			r.waiting = append(r.waiting, t.done)
		}
	default:
		r.last[room] = r.number
		put("/rooms/"+room+"/data", data)
	}
}

var (
	pushedRoom   = regexp.MustCompile(`^\{"a":"(.)","b":\{"p":"rooms/(r\d)`)
	pushedNumber = regexp.MustCompile(`"n":(\d+)`)
)

// check compares what a client received with what it should have.
func (r *revokeTest) check(c *revokeClient) {
	for _, f := range c.frames() {
		m := pushedRoom.FindStringSubmatch(f)
		if m == nil {
			continue
		}
		v := c.views[m[2]]
		switch {
		case v == nil:
			r.Errorf("%s got %s for no listen", c.name, f)
			continue
		case m[1] == "c":
			if v.ended == 0 {
				r.Errorf("%s, signed in as %q, lost %s for no reason: %+v", c.name, c.uid, v.room, r.state)
			}
			delete(c.views, v.room)
			continue
		}
		for _, n := range pushedNumber.FindAllStringSubmatch(f, -1) {
			number, err := strconv.Atoi(n[1])
			if err != nil {
				r.Fatal(err)
			}
			if v.ended != 0 && number >= v.ended && !v.again {
				r.Errorf("%s got %s, though operation %d ended its listen", c.name, f, v.ended)
			}
			v.seen = max(v.seen, number)
		}
	}
	for _, v := range c.views {
		if v.again {
			v.ended, v.again = 0, false
		}
		if v.ended != 0 {
			r.Errorf("%s, signed in as %q, keeps %s, which operation %d ended", c.name, c.uid, v.room, v.ended)
			delete(c.views, v.room)
		} else if v.seen != r.last[v.room] {
			r.Errorf("%s missed operation %d in %s; it saw %d", c.name, r.last[v.room], v.room, v.seen)
		}
	}
}

// TestUndoneRevocation: a batch that is not committed revokes nobody.
func TestUndoneRevocation(t *testing.T) {
	log := &faultyLog{}
	db := openTest(t, Options{Change: log, Rules: parseRules(t, `{"rules":{".read":"root.child('m').child(auth.uid).exists()"}}`)})
	set(t, db, "/m/ana", "1")
	l := listenAs(t, db, "ana", "/x")
	log.set(true)
	if _, err := db.Write(t.Context(), putOf(t, "/m", "null")); !errors.Is(err, fault.ErrUnavailable) {
		t.Fatalf("Write() = %v, want %v", err, fault.ErrUnavailable)
	}
	log.set(false)
	if l.Ended() {
		t.Fatal("the listen has ended")
	}
	set(t, db, "/x", "1")
	set(t, db, "/m", "null")
	if !l.Ended() {
		t.Error("the listen goes on")
	}
	checkAudience(t, db)
}
