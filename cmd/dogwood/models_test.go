package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/internal/modelform"
	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/msgy"
	"github.com/dogwooddb/dogwood/sdk-go/models/social"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/invariant"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/golang-jwt/jwt/v5"
)

// modelNamespace is the database of a model.
const modelNamespace = "default"

// How the clients of a model behave.
const (
	modelWorkers   = 8    // clients, each with operations one after the other
	modelCorrupt   = 0.12 // part of the writes that are corrupted on their way
	modelWrongUser = 0.05 // part of the operations that are done in another's name
)

// modelOps is how many writes of each model are accepted before the test ends.
func modelOps() int {
	return tier.Count("DOGWOOD_MODEL_OPS", 50, 50, 20_000)
}

// A dataModel is one of testdata/models, and what its clients do.
type dataModel struct {
	name   string
	second bool                         // on its data document, with writes of one side
	seed   func(data map[string]any)    // adds to the data of the model
	users  map[string]map[string]any    // uids of clients and the further claims of their tokens
	client func(w *modelWorker) modelDo // what one client does, by name
}

// modelDo are operations by their names.
type modelDo map[string]func(ctx context.Context) error

// TestModelsCrash has clients of each data model do its operations at random, also
// wrong ones and in wrong names, while the server is killed again and again. After
// each kill every invariant holds, everything that was acknowledged is there, and
// nothing else. DOGWOOD_MODEL_OPS says how many writes are to be accepted.
func TestModelsCrash(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	every := tier.Pick(0, 2, 1) // in tier full the models take turns: one in its first form, the next on its document
	for i, m := range []dataModel{chatModel, orgModel, msgyModel, socialModel, storageModel, imModel} {
		for form, name := range []string{m.name, m.name + " on its document"} {
			if (i+form)%every > 0 {
				continue
			}
			m.second = form == 1
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				newModelCrash(t, m).run()
			})
		}
	}
}

// A modelCrash is a server with a data model that is killed and started again.
type modelCrash struct {
	t          *testing.T
	model      dataModel
	seed       uint64
	rnd        *rand.Rand
	data       string // directory
	args       []string
	invariants []*invariant.Invariant
	ledger     *ledger
	server     *serverProcess
	url        atomic.Pointer[string]
	kills      int

	mu   sync.Mutex
	done map[string]int // operations that went well, by name
}

func newModelCrash(t *testing.T, m dataModel) *modelCrash {
	t.Helper()
	c := &modelCrash{t: t, model: m, seed: uint64(time.Now().UnixNano()), data: filepath.Join(t.TempDir(), "data"), done: make(map[string]int)}
	c.rnd = rand.New(rand.NewPCG(c.seed, 0))
	dir := filepath.Join("..", "..", "testdata", "models", m.name)
	rules := filepath.Join(dir, "rules.json")
	if m.second {
		rules = filepath.Join(dir, "rules.declared.json")
	}
	c.args = []string{"serve", "--port", "0", "--data", c.data, "--rules", rules}
	c.readInvariants(dir)
	if m.second {
		c.start()
		c.declare(dir)
		return c
	}
	c.fill(dir)
	c.start()
	return c
}

// readInvariants reads those of the form that is played.
func (c *modelCrash) readInvariants(dir string) {
	c.t.Helper()
	forms, err := modelform.Load(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	form := forms[0]
	if c.model.second {
		form = forms[1]
	}
	var ops struct{ Invariants []json.RawMessage }
	text, err := os.ReadFile(filepath.Join(dir, "ops.json"))
	if err == nil {
		err = json.Unmarshal(text, &ops)
	}
	list, err2 := form.Invariants(ops.Invariants)
	if err := errors.Join(err, err2); err != nil {
		c.t.Fatal(err)
	}
	for _, src := range list {
		v, err := invariant.Parse(src)
		if err != nil {
			c.t.Fatal(err)
		}
		c.invariants = append(c.invariants, v)
	}
}

// data returns the data that the clients begin with.
func (m dataModel) data(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, "data.json"))
	if err != nil || m.seed == nil {
		return text, err
	}
	var data map[string]any
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, err
	}
	m.seed(data)
	return json.Marshal(data)
}

// fill imports the model's data.
func (c *modelCrash) fill(dir string) {
	c.t.Helper()
	text, err := c.model.data(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), "dogwood", "import", "/", "-", "--data", c.data)
	cmd.Stdin = strings.NewReader(string(text))
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("import: %v\n%s", err, out)
	}
	c.ledger = newLedger(tree.MustParseNode(string(text)))
}

func (c *modelCrash) start() {
	c.t.Helper()
	c.server = startProcess(c.t, c.args...)
	if err := c.server.listening(); err != nil {
		c.t.Fatal(err)
	}
	c.url.Store(&c.server.url)
}

// run lets the clients loose and kills the server until enough was accepted.
func (c *modelCrash) run() {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	var all sync.WaitGroup
	users := slices.Sorted(maps.Keys(c.model.users))
	for i := range modelWorkers {
		w := c.worker(users[i%len(users)], i)
		defer w.db.Close()
		all.Go(func() { w.work(ctx) })
	}
	target := modelOps()
	for !c.t.Failed() {
		enough := c.accepted() + 1 + c.rnd.IntN(max(1, min(maxLife, target/4)))
		if c.accepted() < target {
			enough = min(enough, target)
		}
		if c.await(enough); c.accepted() >= target && c.kills >= 2 && (c.refused() || c.kills >= 100) {
			break
		}
		c.server.kill()
		c.kills++
		c.verify()
		c.start()
	}
	cancel()
	all.Wait()
	if err := c.server.stop(); err != nil {
		c.t.Error(err)
	}
	c.verify()
	c.report(target)
}

func (c *modelCrash) accepted() int {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return c.ledger.figures.Accepted
}

// refused reports whether the server has refused what it has to.
func (c *modelCrash) refused() bool {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return c.ledger.figures.Denied > 0 && c.ledger.figures.CorruptedRefused > 0
}

// maxLife is how many writes a server accepts at most before it is killed.
const maxLife = 2000

// stuck is how long no write may be accepted.
const stuck = 2 * time.Minute

// await waits until a number of writes is accepted.
func (c *modelCrash) await(n int) {
	seen, since := c.accepted(), time.Now()
	for ; !c.t.Failed(); time.Sleep(time.Millisecond) {
		switch now := c.accepted(); {
		case now >= n:
			return
		case now > seen:
			seen, since = now, time.Now()
		case time.Since(since) > stuck:
			c.t.Errorf("nothing was accepted for %s; the seed is %d", stuck, c.seed)
			return
		}
	}
}

// verify looks at the file of a server that has ended.
func (c *modelCrash) verify() {
	c.t.Helper()
	file := filepath.Join(c.data, modelNamespace+".db")
	findings := checks.File(c.t.Context(), file) // also what follows by the data document
	broken, err2 := checks.Invariants(c.t.Context(), file, c.invariants)
	root, err3 := readTree(file)
	err4 := c.ledger.compare(root)
	if err := errors.Join(append(append(findings, broken...), err2, err3, err4)...); err != nil {
		c.t.Errorf("after %d kills and %d writes, with the seed %d: %v", c.kills, c.accepted(), c.seed, err)
	}
}

// readTree returns all that is in a data file.
func readTree(file string) (root tree.Node, err error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return tree.Empty, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.View(func(tx *store.Tx) (err error) {
		root, err = tx.Get(tree.Root)
		return err
	})
	return root, err
}

// report says what there was, and that it was not nothing.
func (c *modelCrash) report(target int) {
	f := c.ledger.figures
	c.t.Logf("%d kills, %+v; %v", c.kills, f, c.done)
	if !c.refused() {
		c.t.Error("nothing was refused")
	}
	if target >= 5000 {
		for name := range c.model.client(&modelWorker{crash: c}) {
			if c.done[name] == 0 {
				c.t.Errorf("%s never went well", name)
			}
		}
	}
}

// A modelWorker is one client. Its operations are one after the other.
type modelWorker struct {
	crash *modelCrash
	db    *dogwood.Client
	rnd   *rand.Rand
	uid   string
	users []string
	mine  []string // what it has made and can change
}

func (c *modelCrash) worker(uid string, n int) *modelWorker {
	c.t.Helper()
	w := &modelWorker{crash: c, uid: uid, rnd: rand.New(rand.NewPCG(c.seed, uint64(n+1))), users: slices.Sorted(maps.Keys(c.model.users))}
	way := newTap(func() string { return *c.url.Load() }, c.ledger, rand.New(rand.NewPCG(c.seed, uint64(n+101))), modelCorrupt)
	var err error
	w.db, err = dogwood.New(c.t.Context(), way, dogwood.Options{
		Token:      dogwood.StaticToken(modelToken(c.t, c.data, uid, c.model.users[uid])),
		MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return w
}

// modelToken makes a token of a user, signed with the server's secret.
func modelToken(t *testing.T, data, uid string, claims map[string]any) string {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join(data, "admin-secret"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token := jwt.MapClaims{"uid": uid, "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix()}
	if claims != nil {
		token["claims"] = claims
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, token).SignedString([]byte(strings.TrimSpace(string(secret))))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// work does random operations until ctx ends. The one that is under way then is
// done to its end.
func (w *modelWorker) work(ctx context.Context) {
	do := w.crash.model.client(w)
	names := slices.Sorted(maps.Keys(do))
	for ctx.Err() == nil {
		name := names[w.rnd.IntN(len(names))]
		err := do[name](context.WithoutCancel(ctx))
		switch {
		case err == nil:
			w.crash.mu.Lock()
			w.crash.done[name]++
			w.crash.mu.Unlock()
		case !expected(err):
			w.crash.t.Errorf("%s as %s: %v", name, w.uid, err)
			return
		}
	}
}

// expected reports whether an operation may fail like this: what is done at random
// is seldom allowed, and what is corrupted may be no valid write.
func expected(err error) bool {
	for _, class := range []error{
		dogwood.ErrPermissionDenied, dogwood.ErrStale, dogwood.ErrMaxRetries, dogwood.ErrInvalid,
		dogwood.ErrNotReturned, msgy.ErrTaken, social.ErrTaken,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// me is in whose name an operation is done: mostly the client's own.
func (w *modelWorker) me() string {
	if w.rnd.Float64() < modelWrongUser {
		return w.user()
	}
	return w.uid
}

// user is any user.
func (w *modelWorker) user() string { return w.users[w.rnd.IntN(len(w.users))] }

// some is a name of a few that all clients use.
func (w *modelWorker) some(prefix string, n int) string {
	return prefix + strconv.Itoa(w.rnd.IntN(n))
}

// text is any text.
func (w *modelWorker) text() string { return fmt.Sprintf("text %x", w.rnd.Uint64()) }

// made notes something that the client has made.
func (w *modelWorker) made(key string, err error) error {
	if err == nil {
		w.mine = append(w.mine, key)
	}
	return err
}

// take forgets something that the client has made and returns it, "" if there is
// nothing.
func (w *modelWorker) take() string {
	if len(w.mine) == 0 {
		return ""
	}
	i := w.rnd.IntN(len(w.mine))
	key := w.mine[i]
	w.mine = slices.Delete(w.mine, i, i+1)
	return key
}
