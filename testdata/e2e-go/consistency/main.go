// Command consistency is the Go Admin SDK as a client that is told what to do by a
// test of the server (server/consistency): orders come as lines of JSON, answers
// go as such lines. It ends with its input. The environment says where the server
// is, as for every program with this SDK.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/db"
)

type order struct{ Do, Key, Tag string }

type attempt struct {
	Old string `json:"old"`
	Tag string `json:"tag"`
}

type answer struct {
	Error string    `json:"error,omitempty"`
	Value string    `json:"value"`
	Tried []attempt `json:"tried,omitempty"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	app, err := firebase.NewApp(ctx, &firebase.Config{DatabaseURL: "https://test.firebaseio.com"})
	if err != nil {
		return err
	}
	client, err := app.Database(ctx)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		a, err := carryOut(ctx, client.NewRef(o.Key), o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

func carryOut(ctx context.Context, ref *db.Ref, o order) (a answer, err error) {
	switch o.Do {
	case "get":
		err = ref.Get(ctx, &a.Value)
	case "set":
		err = ref.Set(ctx, o.Tag)
	case "transaction":
		err = ref.Transaction(ctx, func(node db.TransactionNode) (any, error) {
			try := attempt{Tag: fmt.Sprintf("%s.%d", o.Tag, len(a.Tried))}
			if err := node.Unmarshal(&try.Old); err != nil {
				return nil, err
			}
			a.Tried = append(a.Tried, try)
			return try.Tag, nil
		})
	default:
		err = fmt.Errorf("order %q", o.Do)
	}
	return a, err
}
