// Package ownerstorage keeps fields of players, guilds and whatever else games
// have, by application and region, type of logic, owner and key. Every change
// marks the field as dirty, for a program that lands what has changed in SQL, and
// what is removed leaves a tombstone with its last value.
//
//	game := ownerstorage.New(client, "game1", "s1") // with the token of a service
//	err := game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "nick": "Li Lei"})
//	sums, err := game.Incr(ctx, "player", "p1001", map[string]float64{"gold": 50})
//	err = game.RemoveKeys(ctx, "player", "p1001", "nick")
//
// The rules are those of testdata/models/owner-storage: what they do not allow is
// refused with dogwood.ErrPermissionDenied.
//
// A server that has the data document of testdata/models/owner-storage lists owners and counts
// what waits for the landing: Owners and Backlog.
package ownerstorage

import (
	"context"
	"iter"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Storage is the fields of one application in one region.
type Storage struct {
	db *dogwood.Client
	at string // "game1/s1"
}

// New returns the storage of an application and a region. The token of the client names
// both. The token of a player reads only their own data.
func New(db *dogwood.Client, app, region string) *Storage { return &Storage{db, app + "/" + region} }

func (s *Storage) owner(logic, owner string) dogwood.Ref {
	return s.db.Ref("store/" + s.at).Child(logic).Child(owner)
}

// Get returns one field of an owner: a bool, float64 or string, nil if there is
// none.
func (s *Storage) Get(ctx context.Context, logic, owner, key string) (any, error) {
	snap, err := s.owner(logic, owner).Child(key).Snapshot(ctx)
	return snap.Value(), err
}

// GetByFields returns several fields of an owner as they are at one moment,
// without those that are not there.
func (s *Storage) GetByFields(ctx context.Context, logic, owner string, keys ...string) (map[string]any, error) {
	var places []dogwood.Ref
	for _, key := range keys {
		places = append(places, s.owner(logic, owner).Child(key))
	}
	found, err := record.Each(ctx, s.db, places...)
	fields := make(map[string]any)
	for _, snap := range found {
		if snap.Exists() {
			fields[snap.Key()] = snap.Value()
		}
	}
	return fields, err
}

// GetAll returns all fields of an owner.
func (s *Storage) GetAll(ctx context.Context, logic, owner string) (map[string]any, error) {
	return dogwood.Get[map[string]any](ctx, s.owner(logic, owner))
}

// Watch yields all fields of an owner, now and after every change, until ctx ends.
func (s *Storage) Watch(ctx context.Context, logic, owner string) iter.Seq2[map[string]any, error] {
	return dogwood.Values[map[string]any](ctx, s.owner(logic, owner))
}
