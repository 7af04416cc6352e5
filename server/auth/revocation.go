package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Revocations are the users of a data directory whose older tokens are no
// longer good, a file each. "" has none.
type Revocations struct{ dir string }

// A revocation says that a user's tokens are no longer good if the user signed
// in before a time.
type revocation struct {
	UID    string    `json:"uid"`
	Before time.Time `json:"before"`
}

// lockPatience is how long a revocation waits for others, which take milliseconds.
const lockPatience = 10 * time.Second

// RevocationsOf returns the revocations of a data directory.
func RevocationsOf(dataDir string) Revocations {
	if dataDir == "" {
		return Revocations{}
	}
	return Revocations{filepath.Join(dataDir, "revoked-users")}
}

// file returns the file of a user, whose id may be any text.
func (l Revocations) file(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return filepath.Join(l.dir, hex.EncodeToString(sum[:])+".json")
}

// Revoke makes the tokens of a user invalid that are of a time before. A
// revocation that reaches further is kept.
func (l Revocations) Revoke(uid string, before time.Time) (err error) {
	if uid == "" || len(uid) > maxUID {
		return fmt.Errorf("a user's id has 1 to %d bytes", maxUID)
	}
	if err := durable.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	lock, err := dirlock.SoleWithin(l.dir, "dogwood token revoke", lockPatience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	had, err := l.find(uid)
	if err != nil || !had.Before(before) {
		return err
	}
	src, err := json.Marshal(revocation{uid, before.UTC()})
	if err != nil {
		return err
	}
	return writeFile(durable.Replace, l.file(uid), append(src, '\n'))
}

// find returns before which time the tokens of a user are not good, zero if all
// are.
func (l Revocations) find(uid string) (time.Time, error) {
	if l.dir == "" || uid == "" {
		return time.Time{}, nil
	}
	src, err := os.ReadFile(l.file(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	var r revocation
	if err := json.Unmarshal(src, &r); err != nil || r.UID != uid {
		return time.Time{}, fmt.Errorf("%s: not the file of a revocation", l.file(uid))
	}
	return r.Before, nil
}
