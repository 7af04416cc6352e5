package sync

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/dogwooddb/dogwood/tree/store"
)

const metaSettings = "settings"

// Settings are texts by name that the layer above keeps with a database. A map
// that is in use is never changed.
type settings map[string]string

func readSettings(tx *store.Tx) (settings, error) {
	all := settings{}
	text, err := tx.Meta(metaSettings)
	if err != nil {
		return nil, fmt.Errorf("stored settings: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("stored settings: %w", err)
		}
	}
	return all, nil
}

// Setting returns a setting, "" if it was never set. It waits for nobody.
func (d *Database) Setting(name string) string { return (*d.settings.Load())[name] }

// SetSetting sets a setting, durably. There should be few of them, and small
// ones: they are stored as one.
func (d *Database) SetSetting(ctx context.Context, name, value string) error {
	return d.do(ctx, &call{bytes: len(name) + len(value), f: func(b *batch) error {
		old, err := readSettings(b.tx)
		if err != nil {
			return broken(err)
		}
		all := maps.Clone(old)
		all[name] = value
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		b.dirty = true
		b.committed = append(b.committed, func() { b.db.settings.Store(&all) })
		return broken(b.tx.SetMeta(metaSettings, text))
	}})
}
