package project

import (
	"net"
	"os"
	"strconv"
)

// An Emulator is what a firebase.json says about the emulator of the database.
type Emulator struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// DatabaseEmulator returns emulators.database of the firebase.json of the working
// directory, zero if there is none.
func DatabaseEmulator() (Emulator, error) {
	var config struct {
		Emulators struct {
			Database Emulator `json:"database"`
		} `json:"emulators"`
	}
	if _, err := os.Stat("firebase.json"); err != nil {
		return Emulator{}, nil
	}
	if err := new(RulesSet).readConfig("firebase.json", &config); err != nil {
		return Emulator{}, err
	}
	return config.Emulators.Database, nil
}

// URL returns the address at which clients reach the emulator.
func (c Emulator) URL() string {
	host, port := c.Host, c.Port
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if port == 0 {
		port = 9000
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}
