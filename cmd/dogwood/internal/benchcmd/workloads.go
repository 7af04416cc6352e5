package benchcmd

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/soak"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

type setCommand struct {
	Connections int `help:"Connections that write." default:"16" env:"-"`
	InFlight    int `help:"Unacknowledged writes of each connection." default:"16" env:"-"`
	Size        int `help:"Bytes of an object." default:"200" env:"-"`
}

func (c *setCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Set{Connections: c.Connections, InFlight: c.InFlight, Size: c.Size})
}

type chatCommand struct {
	Rooms        int    `help:"Rooms." default:"20" env:"-"`
	Members      int    `help:"Members of each room, with a connection each." default:"25" env:"-"`
	Window       int    `help:"Messages that members follow." default:"50" env:"-"`
	Size         int    `help:"Bytes of a message." default:"100" env:"-"`
	Rules        string `help:"Rules of the database: open, or chat for those of an application." enum:"open,chat" default:"open" env:"-"`
	CompareRules bool   `help:"Measure with chat rules and with open rules in turn, three times unless --repeat says otherwise, and print the ratio." env:"-"`
}

func (c *chatCommand) Run(e *console.Env, b *Command) error {
	w := bench.Chat{Rooms: c.Rooms, Members: c.Members, Window: c.Window, Size: c.Size, Rules: c.Rules, SignIn: c.CompareRules}
	if !c.CompareRules {
		return b.measure(e, w)
	}
	if b.CompareBare || b.Spawn == spawnBare {
		return errors.New("--compare-rules needs a server that has rules")
	}
	if b.Spawn == "" && b.Namespace != "" && b.Keep {
		return errors.New("--compare-rules needs an empty database for each run; leave --keep out")
	}
	strict, open := w, w
	strict.Rules, open.Rules = bench.RulesChat, bench.RulesOpen
	return b.compare(e, subject{strict, b.Spawn}, subject{open, b.Spawn}, comparison{
		label: "open", rate: "chat rules run at %.0f %% of the rate of open rules", time: "a post takes %.2f times the server's processor time",
	})
}

type chatRoomCommand struct {
	Members int `help:"Members who follow the room, with a connection each." default:"1000" env:"-"`
	Posters int `help:"How many of them post." default:"20" env:"-"`
	Window  int `help:"Messages that members follow." default:"50" env:"-"`
	Size    int `help:"Bytes of a message." default:"100" env:"-"`
}

func (c *chatRoomCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.ChatRoom{Members: c.Members, Posters: c.Posters, Window: c.Window, Size: c.Size})
}

type socialCommand struct {
	Followers int `help:"Followers of each poster." default:"1000" env:"-"`
	Pass      int `help:"Followers that one write reaches." default:"1000" env:"-"`
	Posters   int `help:"Users who post, and race for the next id." default:"1" env:"-"`
	Online    int `help:"Followers who listen to their home, with a connection each." default:"100" env:"-"`
	Size      int `help:"Bytes of a message." default:"100" env:"-"`
}

func (c *socialCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Social{Followers: c.Followers, Pass: c.Pass, Posters: c.Posters, Online: c.Online, Size: c.Size})
}

type fanoutCommand struct {
	Subscribers int `help:"Subscribers, with a connection each." default:"1000" env:"-"`
	InFlight    int `help:"Writes that not all subscribers have." default:"64" env:"-"`
	Size        int `help:"Bytes of a value." default:"100" env:"-"`
}

func (c *fanoutCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Fanout{Subscribers: c.Subscribers, InFlight: c.InFlight, Size: c.Size})
}

type idleCommand struct {
	Connections int `help:"Connections. --duration says how long they are held." default:"10000" env:"-"`
}

func (c *idleCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Idle{Connections: c.Connections})
}

type shallowCommand struct {
	Rows    int `help:"Rows of ten leaves, some 220 bytes each." default:"100000" env:"-"`
	Sockets int `help:"Connections, with one request each at a time." default:"1" env:"-"`
}

func (c *shallowCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Shallow{Rows: bench.Rows{Rows: c.Rows}, Sockets: c.Sockets})
}

type queryCommand struct {
	Rows        int    `help:"Rows of ten leaves, some 220 bytes each." default:"100000" env:"-"`
	Window      int    `help:"Rows of a range." default:"50" env:"-"`
	Connections int    `help:"Connections, with one query each at a time." default:"1" env:"-"`
	Over        string `help:"Interface to query over: socket, rest or both, one after the other." enum:"socket,rest,both" default:"both" env:"-"`
}

func (c *queryCommand) Run(e *console.Env, b *Command) error {
	w := bench.Query{Rows: bench.Rows{Rows: c.Rows}, Window: c.Window, Connections: c.Connections, Over: c.Over}
	if c.Over != "both" {
		return b.measure(e, w)
	}
	w.Over = bench.OverSocket
	if err := b.measure(e, w); err != nil {
		return err
	}
	w.Over = bench.OverREST
	return b.measure(e, w)
}

type restGetCommand struct {
	Sockets int `help:"Connections, with one request each at a time." default:"32" env:"-"`
}

func (c *restGetCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.RESTGet{Sockets: c.Sockets})
}

type restPutCommand struct {
	Sockets int `help:"Connections, with one request each at a time." default:"32" env:"-"`
}

func (c *restPutCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.RESTPut{Sockets: c.Sockets})
}

type importLoad struct {
	Rows    int  `help:"Rows of ten leaves, some 220 bytes each. Nine million make two gigabytes." default:"1000000" env:"-"`
	Indexed bool `help:"Declare an index before the import." env:"-"`
	Sockets int  `help:"Connections of the reads and writes that follow, with one request each at a time." default:"8" env:"-"`
}

func (c *importLoad) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Import{Rows: bench.Rows{Rows: c.Rows}, Indexed: c.Indexed, Sockets: c.Sockets})
}

type deleteCommand struct {
	Rows int `help:"Rows of ten leaves, some 220 bytes each." default:"100000" env:"-"`
}

func (c *deleteCommand) Run(e *console.Env, b *Command) error {
	return b.measure(e, bench.Delete{Rows: bench.Rows{Rows: c.Rows}})
}

type soakCommand struct {
	Streams int           `help:"Streams of messages, with a writer each. --rate says how many messages per second there are in all; 200 if it does not." default:"20" env:"-"`
	Steady  int           `help:"Clients of each stream that stay connected." default:"2" env:"-"`
	Passing int           `help:"Clients that come and go." default:"20" env:"-"`
	Keep    int           `help:"Messages in a stream." default:"100" env:"-"`
	Window  int           `help:"Messages that clients with a window follow." default:"20" env:"-"`
	Size    int           `help:"Bytes of a message." default:"100" env:"-"`
	Rows    int           `help:"Rows in addition to the streams, some 220 bytes each." default:"20000" env:"-"`
	Life    time.Duration `help:"How long clients that come and go stay, on average." default:"5s" env:"-"`
	Every   time.Duration `help:"How long an interval of the report is." default:"1m" env:"-"`
}

// soakDuration is how long a soak lasts without --duration.
const soakDuration = 30 * time.Minute

func (c *soakCommand) Run(e *console.Env, b *Command) error {
	if b.Duration == 0 && b.Count == 0 {
		b.Duration = soakDuration
	}
	return b.measure(e, soak.Workload{
		Streams: c.Streams, Steady: c.Steady, Passing: c.Passing, Keep: c.Keep, Window: c.Window,
		Size: c.Size, Rows: c.Rows, Life: c.Life, Every: c.Every,
	})
}
