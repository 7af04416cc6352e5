package auth

import (
	"os"
	"path/filepath"
	"time"
)

// A DataState says when the revocations and the service accounts of a data directory
// changed last. Two equal states are of the same content, unless they are of a moment
// in which the file system's clock did not move on.
type DataState struct{ revoked, accounts time.Time }

// DataState returns the present state. It costs two calls of the system.
func (a *Authority) DataState() DataState {
	return DataState{changed(a.revoked.dir), changed(a.accounts.dir)}
}

// changed returns when a file was made in or removed from a directory last.
func changed(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil { // there is none yet
		return time.Time{}
	}
	return info.ModTime()
}

// Suspects returns what reports which identities Check may find revoked. It reads the
// data directory once, not for each of them, so all that are connected can be asked
// about. What it returns is for one goroutine.
func (a *Authority) Suspects() func(Identity) bool {
	if a.opts.Dev {
		return func(Identity) bool { return false }
	}
	revoked, err := names(a.revoked.dir)
	keys := make(map[string]string) // of accounts, by name; "" is none
	return func(id Identity) bool {
		if id.account != "" {
			key, known := keys[id.account]
			if !known {
				if account, err := a.accounts.Find(id.account); err == nil {
					key = account.Key
				}
				keys[id.account] = key
			}
			if key != id.key {
				return true
			}
		}
		uid := id.uid()
		return uid != "" && (err != nil || revoked[filepath.Base(a.revoked.file(uid))])
	}
}

// names returns the names of the files in a directory, none if it does not exist.
func names(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	all := make(map[string]bool, len(entries))
	for _, e := range entries {
		all[e.Name()] = true
	}
	return all, nil
}
