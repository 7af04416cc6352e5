package main

import (
	"net"
	"os"
	"strconv"

	"github.com/alecthomas/kong"
)

// An emulatorConfig is what a firebase.json says about the emulator of the database.
type emulatorConfig struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// databaseEmulator returns emulators.database of the firebase.json of the working
// directory, zero if there is none.
func databaseEmulator() (emulatorConfig, error) {
	var config struct {
		Emulators struct {
			Database emulatorConfig `json:"database"`
		} `json:"emulators"`
	}
	if _, err := os.Stat("firebase.json"); err != nil {
		return emulatorConfig{}, nil
	}
	if err := new(rulesSet).readConfig("firebase.json", &config); err != nil {
		return emulatorConfig{}, err
	}
	return config.Emulators.Database, nil
}

// url returns the address at which clients reach the emulator.
func (c emulatorConfig) url() string {
	host, port := c.Host, c.Port
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if port == 0 {
		port = 9000
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// resolveEmulator gives flags the values that the firebase.json has for the emulator:
// --host and --port of dev, --url of the commands that talk to a server. What the
// command line or the environment say comes first.
func resolveEmulator(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	dev := k.Selected() != nil && k.Selected().Name == "dev"
	if !(dev && (flag.Name == "host" || flag.Name == "port")) && (dev || flag.Name != "url") {
		return nil, nil
	}
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	config, err := databaseEmulator()
	if err != nil {
		return nil, err
	}
	switch {
	case flag.Name == "url" && config != emulatorConfig{}:
		return config.url(), nil
	case flag.Name == "host" && config.Host != "":
		return config.Host, nil
	case flag.Name == "port" && config.Port != 0:
		return config.Port, nil
	}
	return nil, nil
}
