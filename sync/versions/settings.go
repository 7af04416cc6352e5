package versions

import (
	"encoding/json"
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store"
)

const metaSettings = "settings"

// Settings returns the settings that the file has, by name.
func Settings(tx *store.Tx) (map[string]string, error) {
	all := make(map[string]string)
	text, err := tx.Meta(metaSettings)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("stored settings: %w", err)
	}
	return all, nil
}

// PutSettings stores all settings.
func PutSettings(tx *store.Tx, all map[string]string) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return tx.SetMeta(metaSettings, text)
}
